// What crash tests share: a node, a layout to start from, an apply to disturb, and what must hold afterwards.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "node/epoch.h"
#include "node/ledger.h"
#include "node/paths.h"
#include "node/pins.h"
#include "node/test_support.h"

namespace partita::node {

inline std::vector<std::string> drawings(const layout::NodeState& state) {
  std::vector<std::string> result;
  for (const layout::Gpu& gpu : state.gpus) result.push_back(draw(gpu));
  return result;
}

struct Scenario {
  std::string name;
  std::string node;
  // Both must lead to one layout each, whatever was there before.
  std::function<api::PlanRequest(EmulatedWorld&)> before, disturbed;
  // Changes nothing, so that it only settles what was left: about a GPU that the others do not name.
  std::function<api::PlanRequest(EmulatedWorld&)> settling;
  std::string held;  // an instance of GPU 0 with a process on it, "" for none
};

inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

// A node in the scenario's first layout, with that process.
class Stage {
 public:
  explicit Stage(Scenario scenario) : scenario_(std::move(scenario)), world(scenario_.node) {
    set_up();
    old_layout = drawings(world.state());
    device_ = scenario_.held.empty() ? "" : world.device(0, scenario_.held);
    world.must_apply(scenario_.disturbed(world));
    new_layout = drawings(world.state());
    EXPECT_NE(old_layout, new_layout);
    set_up();
  }
  // Back to the first layout.
  void set_up() {
    world.must_apply(scenario_.before(world));
    if (scenario_.held.empty() || held_) return;
    world.hold(0, scenario_.held, user_.pid());
    held_ = true;
  }
  // Does the disturbed apply in a process that ends at its n-th event. Returns whether it came to its end before.
  bool apply_dying_at(int n, bool by_signal) {
    return in_child([&](Options& options) { die_at(options, n, by_signal); }, scenario_.disturbed(world));
  }
  bool settle_dying_at(int n) {
    return in_child([&](Options& options) { die_at(options, n, true); }, scenario_.settling(world));
  }
  const Scenario& scenario() const { return scenario_; }
  void settle() { world.must_apply(scenario_.settling(world)); }

  // The old layout or the new one, exactly, and a ledger that says the same.
  void expect_whole(const std::string& where) {
    const layout::NodeState state = world.state();
    const auto now = drawings(state);
    EXPECT_TRUE(now == old_layout || now == new_layout) << where << ": " << join(now, " | ");
    Ledger ledger = value(Ledger::open(ledger_file(world.options), Database::Access::read));
    EXPECT_TRUE(value(ledger.open_operations()).empty()) << where;
    const auto owned = value(ledger.owned(read_epoch(world.options.driver.device_root)));
    EXPECT_TRUE(foreign_instances(state, owned).empty()) << where;
    EXPECT_TRUE(stale_marks(state, owned).empty()) << where;
    if (device_.empty()) return;
    EXPECT_EQ(world.device(0, scenario_.held), device_) << where;
  }

 private:
  Scenario scenario_;
  emulator::Child user_;
  std::string device_;
  bool held_ = false;

  static void die_at(Options& options, int n, bool by_signal) {
    options.on_event = [n, by_signal, count = 0](std::string_view) mutable {
      if (++count != n) return;
      if (by_signal) ::raise(SIGKILL);
      ::_exit(9);
    };
  }
  bool in_child(const std::function<void(Options&)>& prepare, const api::PlanRequest& request) {
    const pid_t child = ::fork();
    if (child == 0) {
      prepare(world.options);
      ::_exit(world.apply(request) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << "the apply failed";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 public:
  EmulatedWorld world;
  std::vector<std::string> old_layout, new_layout;
};

// Each on GPU 0, with GPU 1 to settle by.
inline std::vector<Scenario> scenarios() {
  const std::string two_a100 = "gpus: [{board: a100-sxm4-40gb, count: 2}]\n";
  const auto settling = [](EmulatedWorld& world) { return world.off("[1]"); };
  const auto all_off = [](EmulatedWorld& world) { return world.off("[0]"); };
  const auto seven = [](EmulatedWorld& world) { return world.cut("[0]", R"("1g.5gb": 7)"); };
  const auto mixed = [](EmulatedWorld& world) {
    return world.exactly({{0, {"2g.10gb@0", "1g.5gb@2", "1g.5gb@3", "3g.20gb@4"}}});
  };
  return {
      {"enable_with_reset", two_a100, all_off, seven, settling, ""},
      {"recut_beside_busy", two_a100, mixed, seven, settling, "1g.5gb@2"},
      {"disable_with_reset", two_a100, mixed, all_off, settling, ""},
  };
}

}  // namespace partita::node
