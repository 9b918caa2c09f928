// Controllers of cgroup v2 reach a group only when each group above it gives them on, and such a group holds no process
// itself. Internal to deliver/.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace partita::deliver {

// So that the groups in ROOT/PREFIX have `controller` ("memory"). A group that holds processes itself cannot give
// controllers on (the top of the hierarchy can): where this process is the only one in ROOT, it moves to
// ROOT/PREFIX-daemon/main.
Result<void> enable_controller(const std::filesystem::path& root, const std::string& prefix,
                               std::string_view controller);

// A process goes to the top of the hierarchy, or, where that gives controllers on, to ROOT/PREFIX-daemon/main.
Result<void> move_out(const std::filesystem::path& root, const std::string& prefix, pid_t pid);

}  // namespace partita::deliver
