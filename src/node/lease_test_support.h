// For tests about leases: an emulated node whose MIG mode is on, and requests in one line.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "node/lease_ledger.h"
#include "node/test_support.h"

namespace partita::node {

class LeaseWorld : public EmulatedWorld {
 public:
  explicit LeaseWorld(std::string_view node) : EmulatedWorld(node) {
    clock.time = Time(std::chrono::hours(500'000));
    options.cdi_folder = root.path() / "cdi";
    options.register_process = [this](std::string_view device, pid_t pid) {
      return emulator::hold(emulated.name, device, pid, mib(1));
    };
  }
  static api::LeaseRequest ask(std::string profile, std::string name = "") {
    api::LeaseRequest request;
    request.caller = administrator();
    request.name = std::move(name);
    request.requirement.profile = std::move(profile);
    return request;
  }
  static api::LeaseRequest ask_as(const std::string& user, std::string profile, std::string name = "") {
    api::LeaseRequest request = ask(std::move(profile), std::move(name));
    request.caller = as(user);
    return request;
  }
  static api::Caller as(const std::string& user) {
    return {static_cast<uid_t>(1000 + user.at(0)), user, false, false, {}};
  }
  static api::LeaseChange change(std::string name) {
    api::LeaseChange change;
    change.caller = administrator();
    change.name = std::move(name);
    change.grace = std::chrono::milliseconds(200);
    return change;
  }
  std::unique_ptr<DaemonNode> open_daemon() {
    return value(node::open_daemon(catalog, clock, options, root.path() / "socket"));
  }
  // Who owns a device node.
  uid_t owner(const std::string& node) const {
    struct stat info{};
    if (::stat((options.driver.device_root / std::filesystem::path(node).relative_path()).c_str(), &info) != 0)
      throw std::runtime_error("no " + node);
    return info.st_uid;
  }
  // What holds the instances of a GPU.
  std::vector<std::string> pins(int gpu) {
    std::vector<std::string> holders;
    const layout::NodeState now = state();
    for (const layout::GpuInstance& instance : now.gpus.at(static_cast<std::size_t>(gpu)).instances)
      for (const layout::Pin& pin : instance.pins) holders.push_back(pin.holder);
    return holders;
  }
};

}  // namespace partita::node
