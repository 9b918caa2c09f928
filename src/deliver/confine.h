// Keeps the processes of a lease to the device nodes that it was granted, by the kernel: a control group per lease with
// a device filter (cgroup v2: a BPF program; v1: the devices controller; whichever this machine has).
//
// Only nodes of the guarded majors are filtered; all others stay as they are outside. A filter acts when a node is
// opened, so a lease ends by ending its processes. All functions may be called again after a crash.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace partita::deliver {

struct NodeNumber {
  int major = 0, minor = 0;
  auto operator<=>(const NodeNumber&) const = default;
};

struct Filter {
  std::vector<int> guarded_majors;  // NVIDIA's: 195, nvidia-caps, nvidia-uvm
  std::vector<NodeNumber> allowed;  // of those
};

struct Limits {
  std::optional<double> cpus;   // processor time, in processors
  std::optional<Bytes> memory;  // of the host
  std::vector<int> processors;  // near the GPU; empty: all
};

enum class CgroupVersion { v1, v2 };

// Safe to use from several threads; two calls for one lease at a time must not be made.
//
// The groups are at the top of the hierarchy, not in the group of the process that makes them: the daemon of a later
// start finds them, a stop of its service ends no lease, and systemd, which starts a service only in a group that gives
// no controllers to others, can start it again.
class Confinement {
 public:
  // Finds what this machine offers. `unavailable` says what is missing (no writable hierarchy with devices or BPF) and
  // how to mend it. `prefix` is the parent group's name, made if absent: "partita", or "partita-lab" on emulated nodes.
  // It goes with the last lease. v2 is preferred; `only`: no other. `cgroup_root` may also be a group that was
  // delegated to this process; it then makes room for limits by moving itself into PREFIX-daemon inside.
  static Result<Confinement> open(std::string prefix, const std::filesystem::path& cgroup_root = "/sys/fs/cgroup",
                                  std::optional<CgroupVersion> only = {});

  // What is used, for doctor: "cgroup v1 devices", "cgroup v2 BPF".
  std::string_view kind() const;

  // Makes the lease's group with its filter and limits; again: sets them anew. A limit that cannot be enforced here is
  // `unavailable`, and says so; then a new group is gone again.
  Result<void> prepare(std::string_view lease, const Filter& filter, const Limits& limits);
  Result<void> add(std::string_view lease, pid_t pid);
  // One that is in it by mistake: it is as free as one at the top of the hierarchy.
  Result<void> let_out(std::string_view lease, pid_t pid);
  // All processes in it, children, setsid and re-exec included; this one is not told. Empty when there is no such
  // group.
  Result<std::vector<pid_t>> processes(std::string_view lease) const;
  // To all of them at one moment, those being forked included (SIGKILL by the kernel, else the group is frozen). This
  // process leaves the group before, if it is in it, and so it does when the group is dissolved.
  Result<void> signal(std::string_view lease, int signal);
  // `busy`, naming them, while processes remain. No such group: nothing to do.
  Result<void> dissolve(std::string_view lease);
  // Groups that exist, for recovery.
  std::vector<std::string> leases() const;

  Confinement(Confinement&&) noexcept;
  Confinement& operator=(Confinement&&) noexcept;
  ~Confinement();

 private:
  struct Impl;
  explicit Confinement(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::deliver
