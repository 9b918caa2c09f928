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

// A v2 group gives controllers to the groups inside it only when it holds no process itself. Where this process is the
// one in the way (a service with a delegated group, a container), it moves into a group beside the leases.
bool step_aside(const fs::path& root, const std::string& prefix) {
  std::set<pid_t> here;
  for (const std::string& line : split(read_control(root / "cgroup.procs"), '\n'))
    if (!line.empty()) here.insert(std::atoi(line.c_str()));
  if (here != std::set<pid_t>{::getpid()}) return false;
  const std::string name = prefix + "-daemon";
  return make_group(root, name, "main") && write_control(root / name / "main" / "cgroup.procs", "0") == 0;
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

}  // namespace partita::deliver
