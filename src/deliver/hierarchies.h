// Which control group hierarchies this machine mounts: cgroup v2 alone, v1 alone, or both (hybrid), where each
// controller is in one of the two. Internal to deliver/.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace partita::deliver {

enum class Controller { cpu, memory, cpuset };
inline constexpr std::array kControllers = {Controller::cpu, Controller::memory, Controller::cpuset};
std::string_view name(Controller controller);

struct ControllerPlace {
  std::filesystem::path root;
  bool v2 = false;
};

struct Hierarchies {
  std::optional<std::filesystem::path> unified;           // cgroup v2
  std::optional<std::filesystem::path> devices, freezer;  // cgroup v1
  std::array<std::optional<ControllerPlace>, kControllers.size()> controllers;

  const std::optional<ControllerPlace>& place(Controller controller) const {
    return controllers[static_cast<std::size_t>(controller)];
  }
};

// `cgroup_root` is the usual mount point, or any group of a v2 hierarchy (one delegated to a service, for example).
Hierarchies find_hierarchies(const std::filesystem::path& cgroup_root);

}  // namespace partita::deliver
