// The device filter of cgroup v2: a BPF program attached to the group, which the kernel keeps as long as the group
// lives, whoever attached it. Internal to deliver/.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "deliver/confine.h"

namespace partita::deliver {

// Can this process load such programs? The error says why not.
Result<void> check_bpf();

// Attaches the filter, then detaches our former one: at no time is there none. Others' programs stay; all must agree.
Result<void> set_bpf_filter(const std::filesystem::path& group, const Filter& filter);

}  // namespace partita::deliver
