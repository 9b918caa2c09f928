// For benchmarks of leases: an emulated DGX A100 with MIG on, as a real node has it: its device files in memory, its
// ledger on the disk (TMPDIR). And what clients ask for.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "emulator/control/control.h"
#include "layout/mig_parted_file.h"
#include "node/node.h"

namespace partita::bench {

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message + "\n" + join(result.error().details, "\n"));
  return *std::move(result);
}

class LeaseWorld {
 public:
  LeaseWorld() : catalog_(value(catalog::Catalog::open())) {
    memory_ = folder("/dev/shm");
    const char* disk = std::getenv("TMPDIR");
    disk_ = folder(disk != nullptr ? disk : "/tmp");
    ::setenv("PARTITA_EMULATED_ROOT", memory_.c_str(), 1);
    const auto node = value(emulator::start(catalog_, "dgx-a100"));
    ::setenv("PARTITA_EMULATED_NODE", node.folder.c_str(), 1);
    options_.driver = {.library = PARTITA_NVML_LIBRARY, .device_root = node.folder / "root"};
    options_.state_dir = disk_ / "state";
    options_.name = node.name;
    options_.emulated = true;
    options_.cdi_folder = memory_ / "cdi";
    options_.reset_command = {PARTITA_RESET_PROGRAM, node.name, "{bus-id}"};
  }
  ~LeaseWorld() {
    std::filesystem::remove_all(memory_);
    std::filesystem::remove_all(disk_);
  }
  LeaseWorld(const LeaseWorld&) = delete;
  LeaseWorld& operator=(const LeaseWorld&) = delete;

  static api::Caller administrator() { return {0, "root", true, false, {}}; }
  std::filesystem::path socket() const { return disk_ / "socket"; }
  std::filesystem::path state_folder() const { return options_.state_dir; }

  std::unique_ptr<node::DaemonNode> open_daemon() {
    auto daemon = value(node::open_daemon(catalog_, clock_, options_, socket()));
    const auto file =
        value(layout::read_mig_parted("version: v1\nmig-configs:\n  on:\n    - {devices: all, mig-enabled: true, "
                                      "mig-devices: {\"1g.5gb\": 7}}\n",
                                      "bench"));
    SilentProgress silent;
    value(daemon->apply({administrator(), api::LayoutRequest{*value(file.label("on")), "bench"}, {}, {}}, silent));
    return daemon;
  }

  // So many kinds that the idle instances seldom have the right one.
  static api::Requirement wanted(std::mt19937& random) {
    api::Requirement requirement;
    const auto draw = random() % 100;
    requirement.profile = draw < 30   ? "1g.5gb"
                          : draw < 50 ? "1g.10gb"
                          : draw < 70 ? "2g.10gb"
                          : draw < 85 ? "3g.20gb"
                                      : "4g.20gb";
    requirement.bare = random() % 4 == 0;
    return requirement;
  }
  // The same, so small that 64 clients seldom wait for room.
  static api::Requirement wanted_small(std::mt19937& random) {
    constexpr std::array kProfiles = {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb"};
    api::Requirement requirement;
    constexpr std::array kOf16 = {0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3};
    requirement.profile = kProfiles[kOf16[random() % kOf16.size()]];
    requirement.bare = random() % 2 == 0;
    return requirement;
  }

 private:
  static std::filesystem::path folder(const std::string& parent) {
    std::string name = parent + "/partita-bench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + parent);
    return name;
  }
  catalog::Catalog catalog_;
  SystemClock clock_;
  std::filesystem::path memory_, disk_;
  node::Options options_;
};

// Of sorted values.
inline double at(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

}  // namespace partita::bench
