// Signals to all processes of a group, those that are just being forked included. Internal to deliver/.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "base/error.h"

namespace partita::deliver {

// What of a group can be used to reach its processes.
struct SignalledGroup {
  std::function<std::set<pid_t>()> processes;
  std::optional<std::filesystem::path> unified;  // the group in cgroup v2
  std::optional<std::filesystem::path> freezer;  // the group in the v1 freezer
};

// SIGKILL by the kernel itself where it can (v2, kernel 5.14); else the group is frozen, each process signalled, and
// thawed. SIGTERM and SIGHUP are followed by SIGCONT, or stopped processes would not see them. `busy` when processes
// multiply faster than they can be reached.
Result<void> signal_all(const SignalledGroup& group, int signal);
// A caller that was killed in between may have left it frozen.
void thaw(const SignalledGroup& group);

}  // namespace partita::deliver
