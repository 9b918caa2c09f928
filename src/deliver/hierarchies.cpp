#include "deliver/hierarchies.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "deliver/cgroup.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

// v1 mounts are named after a controller; where two share one ("cpu,cpuacct") each has a link.
std::optional<fs::path> v1_mount(const fs::path& root, std::string_view controller) {
  const fs::path mount = root / controller;
  if (!is_cgroup1(mount)) return std::nullopt;
  std::error_code error;
  const fs::path real = fs::canonical(mount, error);
  return error ? mount : real;
}

}  // namespace

std::string_view name(Controller controller) {
  switch (controller) {
    case Controller::cpu:
      return "cpu";
    case Controller::memory:
      return "memory";
    case Controller::cpuset:
      return "cpuset";
  }
  return "";
}

Hierarchies find_hierarchies(const fs::path& cgroup_root) {
  Hierarchies found;
  if (is_cgroup2(cgroup_root)) {
    found.unified = cgroup_root;
  } else {
    if (is_cgroup2(cgroup_root / "unified")) found.unified = cgroup_root / "unified";
    found.devices = v1_mount(cgroup_root, "devices");
    found.freezer = v1_mount(cgroup_root, "freezer");
  }
  std::vector<std::string> unified;
  if (found.unified) {
    const std::string text = read_control(*found.unified / "cgroup.controllers");
    unified = split(trim(text), ' ');
  }
  for (const Controller controller : kControllers) {
    auto& place = found.controllers[static_cast<std::size_t>(controller)];
    if (found.unified && std::ranges::find(unified, name(controller)) != unified.end()) {
      place = ControllerPlace{*found.unified, true};
    } else if (!is_cgroup2(cgroup_root)) {
      if (const auto mount = v1_mount(cgroup_root, name(controller))) place = ControllerPlace{*mount, false};
    }
  }
  return found;
}

}  // namespace partita::deliver
