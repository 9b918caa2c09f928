#include "deliver/confine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/process.h"
#include "base/text.h"
#include "deliver/bpf_filter.h"
#include "deliver/cgroup.h"
#include "deliver/delegation.h"
#include "deliver/device_rules.h"
#include "deliver/group_signal.h"
#include "deliver/hierarchies.h"
#include "deliver/limits.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLeasePrefix = "lease-";  // a lease named "tasks" must not meet the kernel's file
constexpr std::size_t kMostNamed = 5;

bool is_group_name(std::string_view name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-").contains(c);
  });
}

Result<std::string> group_name(std::string_view lease) {
  if (!is_group_name(lease))
    return fail(ErrorCode::invalid, fmt::format("{} cannot be the name of a control group", quote(lease)));
  return fmt::format("{}{}", kLeasePrefix, lease);
}

Result<void> check_writable(const fs::path& root) {
  if (::access(root.c_str(), W_OK | X_OK) == 0) return {};
  return fail(ErrorCode::unavailable, fmt::format("{}: {}", root.string(), std::strerror(errno)));
}

Error nothing_usable(const fs::path& cgroup_root, std::vector<std::string> reasons) {
  const std::string_view advice =
      ::geteuid() != 0 ? "only root can: run as root, or ask the daemon (partita serve)"
                       : "mount cgroup v2 at /sys/fs/cgroup, writable, on a kernel with CONFIG_CGROUP_BPF";
  return Error{
      ErrorCode::unavailable,
      fmt::format("programs cannot be kept to their devices by control groups in {}; {}", cgroup_root.string(), advice),
      std::move(reasons)};
}

}  // namespace

struct Confinement::Impl {
  std::string prefix;
  Hierarchies hierarchies;
  CgroupVersion filter = CgroupVersion::v2;
  fs::path filter_root;  // of the hierarchy that filters

  // All hierarchies where a lease may have a group; that of the filter comes last, so that a process that is in it is
  // in all.
  std::vector<fs::path> roots() const {
    std::vector<fs::path> all;
    const auto once = [&](const fs::path& root) {
      if (root != filter_root && std::ranges::find(all, root) == all.end()) all.push_back(root);
    };
    for (const auto& place : hierarchies.controllers)
      if (place) once(place->root);
    if (filter == CgroupVersion::v1 && hierarchies.freezer) once(*hierarchies.freezer);
    all.push_back(filter_root);
    return all;
  }

  std::set<pid_t> processes(const std::string& name) const {
    std::set<pid_t> pids;
    for (const fs::path& root : roots()) collect_processes(root / prefix / name, pids);
    pids.erase(::getpid());
    return pids;
  }

  Result<void> let_out(const std::string& name, pid_t pid) const {
    for (const fs::path& root : roots()) {
      std::set<pid_t> here;
      collect_processes(root / prefix / name, here);
      if (here.contains(pid)) TRY_VOID(move_out(root, prefix, pid));
    }
    return {};
  }
  // Where this process is in the group itself: it would be frozen or ended before it is done.
  Result<void> leave(const std::string& name) const { return let_out(name, ::getpid()); }

  SignalledGroup signalled(const std::string& name) const {
    SignalledGroup group;
    group.processes = [this, name] { return processes(name); };
    if (filter == CgroupVersion::v2)
      group.unified = filter_root / prefix / name;
    else if (hierarchies.freezer)
      group.freezer = *hierarchies.freezer / prefix / name;
    return group;
  }

  Result<void> set(const std::string& name, const Filter& wanted, const Limits& limits) const {
    if (filter == CgroupVersion::v1 && hierarchies.freezer) TRY_VOID(make_group(*hierarchies.freezer, prefix, name));
    TRY_VOID(make_group(filter_root, prefix, name));
    thaw(signalled(name));
    const fs::path group = filter_root / prefix / name;
    if (filter == CgroupVersion::v2)
      TRY_VOID(set_bpf_filter(group, wanted));
    else
      TRY_VOID(set_device_rules(group, wanted));
    return set_limits(hierarchies, prefix, name, limits);
  }

  Result<void> remove(const std::string& name) const {
    TRY_VOID(leave(name));
    for (const fs::path& root : roots()) {
      TRY_VOID(remove_group(root / prefix / name));
      ::rmdir((root / prefix).c_str());  // stays while it has other leases
    }
    return {};
  }
};

Result<Confinement> Confinement::open(std::string prefix, const fs::path& cgroup_root,
                                      std::optional<CgroupVersion> only) {
  if (!is_group_name(prefix))
    return fail(ErrorCode::invalid, fmt::format("{} cannot be the name of a control group", quote(prefix)));
  auto impl = std::make_unique<Impl>();
  impl->prefix = std::move(prefix);
  impl->hierarchies = find_hierarchies(cgroup_root);
  std::vector<std::string> reasons;
  const auto usable = [&](const std::optional<fs::path>& root, CgroupVersion version, std::string_view what) {
    if (only && *only != version) return false;
    Result<void> can = root ? check_writable(*root) : fail(ErrorCode::unavailable, "not mounted");
    if (can && version == CgroupVersion::v2) can = check_bpf();
    if (!can) reasons.push_back(fmt::format("{}: {}", what, can.error().message));
    impl->filter = version;
    impl->filter_root = root.value_or("");
    return can.has_value();
  };
  if (usable(impl->hierarchies.unified, CgroupVersion::v2, "cgroup v2") ||
      usable(impl->hierarchies.devices, CgroupVersion::v1, "cgroup v1 devices"))
    return Confinement(std::move(impl));
  return std::unexpected(nothing_usable(cgroup_root, std::move(reasons)));
}

std::string_view Confinement::kind() const {
  return impl_->filter == CgroupVersion::v2 ? "cgroup v2 BPF" : "cgroup v1 devices";
}

Result<void> Confinement::prepare(std::string_view lease, const Filter& filter, const Limits& limits) {
  const std::string name = TRY(group_name(lease));
  TRY_VOID(check_limits(limits));
  const bool new_group = ::access((impl_->filter_root / impl_->prefix / name).c_str(), F_OK) != 0;
  auto set = impl_->set(name, filter, limits);
  if (!set && new_group) (void)impl_->remove(name);
  if (!set) return std::unexpected(in_context(fmt::format("lease {}", lease), std::move(set).error()));
  return {};
}

Result<void> Confinement::add(std::string_view lease, pid_t pid) {
  const std::string name = TRY(group_name(lease));
  const fs::path filtered = impl_->filter_root / impl_->prefix / name;
  if (::access(filtered.c_str(), F_OK) != 0)
    return fail(ErrorCode::not_found, fmt::format("lease {} has no control group; prepare it first", lease));
  for (const fs::path& root : impl_->roots()) {
    const fs::path group = root / impl_->prefix / name;
    if (group != filtered && ::access(group.c_str(), F_OK) != 0) continue;
    const std::string text = std::to_string(pid);
    const int error = write_control(group / "cgroup.procs", text);
    if (error == ESRCH) return fail(ErrorCode::not_found, fmt::format("there is no process {}", pid));
    if (error != 0) return std::unexpected(control_error(group / "cgroup.procs", text, error));
  }
  return {};
}

Result<void> Confinement::let_out(std::string_view lease, pid_t pid) {
  return impl_->let_out(TRY(group_name(lease)), pid);
}

Result<std::vector<pid_t>> Confinement::processes(std::string_view lease) const {
  const std::set<pid_t> pids = impl_->processes(TRY(group_name(lease)));
  return std::vector<pid_t>(pids.begin(), pids.end());
}

Result<void> Confinement::signal(std::string_view lease, int signal) {
  const std::string name = TRY(group_name(lease));
  if (::access((impl_->filter_root / impl_->prefix / name).c_str(), F_OK) != 0) return {};
  TRY_VOID(impl_->leave(name));
  return signal_all(impl_->signalled(name), signal);
}

Result<void> Confinement::dissolve(std::string_view lease) {
  const std::string name = TRY(group_name(lease));
  const std::set<pid_t> pids = impl_->processes(name);
  if (pids.empty()) return impl_->remove(name);
  std::vector<std::string> named;
  for (const pid_t pid : pids) {
    if (named.size() == kMostNamed) break;
    named.push_back(fmt::format("{} ({})", pid, one_line(process_name(pid), 20)));
  }
  const std::string more = pids.size() > named.size() ? fmt::format(" and {} more", pids.size() - named.size()) : "";
  return fail(ErrorCode::busy, fmt::format("lease {} still has {}: {}{}", lease, count_of(pids.size(), "process"),
                                           join(named, ", "), more));
}

std::vector<std::string> Confinement::leases() const {
  std::set<std::string> found;
  for (const fs::path& root : impl_->roots())
    for (const fs::path& group : groups_in(root / impl_->prefix))
      if (const std::string name = group.filename(); name.starts_with(kLeasePrefix))
        found.insert(name.substr(kLeasePrefix.size()));
  return {found.begin(), found.end()};
}

Confinement::Confinement(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Confinement::Confinement(Confinement&&) noexcept = default;
Confinement& Confinement::operator=(Confinement&&) noexcept = default;
Confinement::~Confinement() = default;

}  // namespace partita::deliver
