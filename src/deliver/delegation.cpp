#include "deliver/delegation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "deliver/cgroup.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

Result<void> enter_own(const fs::path& root, const std::string& prefix, pid_t pid) {
  const std::string name = prefix + "-daemon";
  TRY_VOID(make_group(root, name, "main"));
  const fs::path file = root / name / "main" / "cgroup.procs";
  const std::string text = std::to_string(pid);
  if (const int error = write_control(file, text); error != 0) return std::unexpected(control_error(file, text, error));
  return {};
}

// A v2 group gives controllers to the groups inside it only when it holds no process itself. Where this process is the
// one in the way (a service with a delegated group, a container), it moves into a group beside the leases.
bool step_aside(const fs::path& root, const std::string& prefix) {
  std::set<pid_t> here;
  for (const std::string& line : split(read_control(root / "cgroup.procs"), '\n'))
    if (!line.empty()) here.insert(std::atoi(line.c_str()));
  return here == std::set<pid_t>{::getpid()} && enter_own(root, prefix, ::getpid());
}

Result<void> enable_in(const fs::path& group, std::string_view controller) {
  const fs::path file = group / "cgroup.subtree_control";
  const std::string text = fmt::format("+{}", controller);
  const int error = write_control(file, text);
  if (error == 0) return {};
  Error told = control_error(file, text, error);
  if (error == EBUSY) told.message += " (other processes are in that group itself; move them into one inside it)";
  return std::unexpected(std::move(told));
}

}  // namespace

Result<void> enable_controller(const fs::path& root, const std::string& prefix, std::string_view controller) {
  if (auto enabled = enable_in(root, controller); !enabled) {
    if (!step_aside(root, prefix)) return enabled;
    TRY_VOID(enable_in(root, controller));
  }
  return enable_in(root / prefix, controller);
}

Result<void> move_out(const fs::path& root, const std::string& prefix, pid_t pid) {
  const int error = write_control(root / "cgroup.procs", std::to_string(pid));
  return error == 0 || error == ESRCH ? Result<void>{} : enter_own(root, prefix, pid);
}

}  // namespace partita::deliver
