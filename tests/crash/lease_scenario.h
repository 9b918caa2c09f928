// What crash tests of leases share: a node with leases, changes that die on the way, and what must hold afterwards.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "deliver/cdi.h"
#include "node/epoch.h"
#include "node/lease_test_support.h"
#include "node/ledger.h"
#include "node/paths.h"
#include "node/pins.h"
#include "power_cut.h"

namespace partita::node {

enum class Death { exit, signal, power_cut };

// A change of leases; each returns whether it came to its end.
struct LeaseScenario {
  std::string name;
  bool daemon = false;
  // Before: each of these in turn, undisturbed. Then `change` dies.
  std::vector<std::function<bool(api::Node&, LeaseWorld&)>> before, change;
  bool reboots = false;  // between them: then the change has to recover first
};

// Any verb that changes things settles first.
inline bool recovers(api::Node& node, LeaseWorld&) { return !node.release(LeaseWorld::change("nobody")); }

inline void PrintTo(const LeaseScenario& scenario, std::ostream* out) { *out << scenario.name; }

class LeaseStage {
 public:
  explicit LeaseStage(LeaseScenario scenario)
      : scenario_(std::move(scenario)), world("gpus: [{board: a100-sxm4-40gb, count: 1}, {board: h100-sxm5-80gb}]\n") {
    world.must_apply(world.exactly({{0, {"3g.20gb@0", "2g.10gb@4"}}, {1, {"1g.10gb@0"}}}));
    auto node = world.open();
    for (const auto& step : scenario_.before) EXPECT_TRUE(step(*node, world));
    promised = live(*node);
    if (scenario_.reboots) value(emulator::reboot(world.emulated.name));
  }

  // The change in a process that ends at its n-th event. Returns whether it came to its end before. Each step that was
  // answered is counted in `answered`.
  bool die_at(int n, Death death) { return run(n, death, scenario_.change, scenario_.daemon, answered); }
  // The same of what settles it afterwards.
  bool die_settling_at(int n, Death death) {
    int unused = 0;
    return run(n, death, {recovers}, false, unused);
  }
  void settle() { EXPECT_TRUE(recovers(*world.open(), world)); }

  static std::map<std::string, api::Lease> live(api::Node& node) {
    std::map<std::string, api::Lease> by_name;
    for (api::Lease& lease : value(node.leases({}))) by_name[lease.name] = std::move(lease);
    return by_name;
  }

  // Ledger, driver, permissions and files say the same.
  void expect_whole(const std::string& where) {
    SCOPED_TRACE(where);
    const layout::NodeState state = world.state();
    Ledger ledger = value(Ledger::open(ledger_file(world.options), Database::Access::read));
    EXPECT_TRUE(value(ledger.open_operations()).empty());
    const auto owned = value(ledger.owned(read_epoch(world.options.driver.device_root)));
    EXPECT_TRUE(foreign_instances(state, owned).empty());
    EXPECT_TRUE(stale_marks(state, owned).empty());
    std::set<std::string> files, holders, nodes;
    for (const auto& [name, lease] : live(*world.open())) {
      if (lease.state == api::LeaseState::parked) continue;
      EXPECT_EQ(api::to_string(lease.state), "active") << name;
      if (!lease.grant) {
        ADD_FAILURE() << name << " has nothing";
        continue;
      }
      files.insert(name);
      holders.insert("lease " + name + " (" + lease.holder.user + ")");
      for (const api::DeviceNode& node : lease.grant->nodes)
        if (node.capability) {
          EXPECT_TRUE(nodes.insert(node.path).second) << node.path << " belongs to two leases";
          expect_owner(node.path, lease.holder.uid);
        }
    }
    const auto stems = deliver::list_cdi(world.options.cdi_folder);
    EXPECT_EQ(std::set<std::string>(stems.begin(), stems.end()), files);
    std::set<std::string> pinned;
    for (const layout::Gpu& gpu : state.gpus)
      for (const layout::GpuInstance& instance : gpu.instances)
        for (const layout::Pin& pin : instance.pins) EXPECT_TRUE(pinned.insert(pin.holder).second) << pin.holder;
    EXPECT_EQ(pinned, holders);
    expect_closed_but(nodes);
  }

  // Leases that nobody changed are there, at their place; none without a reason is gone.
  void expect_kept(const std::set<std::string>& changed) {
    const auto now = live(*world.open());
    for (const auto& [name, lease] : promised) {
      if (changed.contains(name)) continue;
      ASSERT_TRUE(now.contains(name)) << name;
      if (!lease.grant) continue;
      ASSERT_TRUE(now.at(name).grant) << name;
      EXPECT_EQ(now.at(name).grant->devices[0].gpu, lease.grant->devices[0].gpu);
      EXPECT_EQ(now.at(name).grant->devices[0].start, lease.grant->devices[0].start);
      EXPECT_EQ(now.at(name).grant->devices[0].profile, lease.grant->devices[0].profile);
    }
  }

 private:
  using Steps = std::vector<std::function<bool(api::Node&, LeaseWorld&)>>;

  bool run(int n, Death death, const Steps& steps, bool daemon, int& answers) {
    answers = 0;
    int pipe[2] = {-1, -1};
    EXPECT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(pipe[0]);
      run_child(n, death, steps, daemon, pipe[1]);
    }
    ::close(pipe[1]);
    char byte = 0;
    while (::read(pipe[0], &byte, 1) == 1) ++answers;
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << "a step failed";
    if (death == Death::power_cut) value(emulator::reboot(world.emulated.name));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  [[noreturn]] void run_child(int n, Death death, const Steps& steps, bool daemon, int report) {
    Options& options = world.options;
    options.on_event = [n, death, count = 0](std::string_view) mutable {
      if (++count != n) return;
      if (death != Death::exit) ::raise(SIGKILL);
      ::_exit(9);
    };
    if (death == Death::power_cut) begin_power_cut();
    std::unique_ptr<api::Node> node;
    if (daemon)
      node = world.open_daemon();
    else
      node = world.open();
    for (const auto& step : steps) {
      if (!step(*node, world)) ::_exit(1);
      (void)!::write(report, "x", 1);
    }
    if (death == Death::power_cut) ::raise(SIGKILL);
    node.reset();
    ::_exit(0);
  }
  std::filesystem::path real(const std::string& node) const {
    return world.options.driver.device_root / std::filesystem::path(node).relative_path();
  }
  void expect_owner(const std::string& node, uid_t uid) const {
    if (::geteuid() != 0) return;
    struct stat info{};
    ASSERT_EQ(::stat(real(node).c_str(), &info), 0) << node;
    EXPECT_EQ(info.st_uid, uid) << node;
    EXPECT_EQ(info.st_mode & 077U, 0U) << node;
  }
  // No permission without a lease: config and monitor aside, what no lease has is root's alone.
  void expect_closed_but(const std::set<std::string>& nodes) const {
    if (::geteuid() != 0) return;
    for (const auto& entry : std::filesystem::directory_iterator(real("/dev/nvidia-caps"))) {
      const std::string name = "/dev/nvidia-caps/" + entry.path().filename().string();
      if (nodes.contains(name) || name.ends_with("cap1") || name.ends_with("cap2") || name.ends_with("cap4323"))
        continue;
      expect_owner(name, 0);
    }
  }

  LeaseScenario scenario_;

 public:
  LeaseWorld world;
  std::map<std::string, api::Lease> promised;
  int answered = 0;
};

}  // namespace partita::node
