#include "deliver/group_signal.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/text.h"
#include "deliver/cgroup.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr int kFreezeTries = 500;  // 1 ms each: a process inside the kernel freezes when it comes out
constexpr int kMostRounds = 1000;

bool is_frozen(const SignalledGroup& group) {
  if (group.unified) return read_control(*group.unified / "cgroup.events").contains("frozen 1");
  return group.freezer && trim(read_control(*group.freezer / "freezer.state")) == "FROZEN";
}

int ask_to_freeze(const SignalledGroup& group) {
  if (group.unified) return write_control(*group.unified / "cgroup.freeze", "1");
  return group.freezer ? write_control(*group.freezer / "freezer.state", "FROZEN") : ENOENT;
}

void freeze(const SignalledGroup& group) {
  for (int attempt = 0; attempt < kFreezeTries; ++attempt) {
    if (ask_to_freeze(group) != 0 || is_frozen(group)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Result<void> signal_one(pid_t pid, int signal) {
  if (::kill(pid, signal) != 0 && errno != ESRCH)
    return fail(ErrorCode::denied, fmt::format("cannot signal process {}: {}", pid, std::strerror(errno)));
  if (signal == SIGTERM || signal == SIGHUP) ::kill(pid, SIGCONT);
  return {};
}

// In rounds until one finds nobody new: where freezing failed, the signalled ones may have forked meanwhile.
Result<void> signal_each(const SignalledGroup& group, int signal) {
  std::set<pid_t> reached;
  for (int round = 0; round < kMostRounds; ++round) {
    bool news = false;
    for (const pid_t pid : group.processes()) {
      if (!reached.insert(pid).second) continue;
      news = true;
      TRY_VOID(signal_one(pid, signal));
    }
    if (!news) return {};
  }
  return fail(ErrorCode::busy, fmt::format("processes multiply faster than signal {} reaches them", signal));
}

}  // namespace

Result<void> signal_all(const SignalledGroup& group, int signal) {
  if (signal == SIGKILL && group.unified && write_control(*group.unified / "cgroup.kill", "1") == 0) {
    thaw(group);
    return {};
  }
  freeze(group);
  auto signalled = signal_each(group, signal);
  thaw(group);
  return signalled;
}

void thaw(const SignalledGroup& group) {
  if (group.unified) write_control(*group.unified / "cgroup.freeze", "0");
  if (group.freezer) write_control(*group.freezer / "freezer.state", "THAWED");
}

}  // namespace partita::deliver
