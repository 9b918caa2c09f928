// Changes of leases that die at their n-th event, for every n: afterwards ledger, driver, permissions and files say the
// same, and whatever was answered holds.
#include "lease_scenario.h"

namespace partita::node {
namespace {

using Step = std::function<bool(api::Node&, LeaseWorld&)>;

Step lease_as(const std::string& user, const std::string& profile, const std::string& name, int count = 1) {
  return [=](api::Node& node, LeaseWorld&) {
    api::LeaseRequest request = LeaseWorld::ask(profile, name);
    request.count = count;
    request.holder = {api::HolderKind::user, LeaseWorld::as(user).uid, user, "", std::nullopt};
    const auto leases = node.lease(request);
    if (!leases) ADD_FAILURE() << all_of(leases.error());
    return leases && leases->at(0).state == api::LeaseState::active;
  };
}
Step change(const std::string& what, const std::string& name, const std::string& profile = "") {
  return [=](api::Node& node, LeaseWorld&) {
    api::LeaseChange change = LeaseWorld::change(name);
    change.force = true;
    api::Requirement requirement;
    requirement.profile = profile;
    const auto lease = what == "release"  ? node.release(change)
                       : what == "resize" ? node.resize(change, requirement)
                       : what == "park"   ? node.park(change)
                                          : node.unpark(change);
    if (!lease) ADD_FAILURE() << all_of(lease.error());
    return lease.has_value();
  };
}

std::vector<LeaseScenario> lease_scenarios() {
  const std::vector<Step> two = {lease_as("anna", "3g.20gb", "big"), lease_as("bert", "1g.10gb", "other")};
  std::vector<LeaseScenario> all = {
      {"reuse", false, two, {lease_as("carl", "2g.10gb", "new")}},
      {"recut", false, two, {lease_as("carl", "1g.5gb", "new")}},
      {"several", false, two, {lease_as("carl", "1g.5gb", "new", 2)}},
      {"release", false, two, {change("release", "big")}},
      {"resize", false, two, {change("resize", "big", "1g.5gb")}},
      {"park", false, two, {change("park", "big"), change("unpark", "big")}},
      {"turns",
       true,
       two,
       {lease_as("carl", "1g.5gb", "new"), change("release", "new"), lease_as("dora", "2g.10gb", "newer"),
        change("release", "big"), lease_as("anna", "4g.20gb", "bigger")}},
      {"recovery", false, two, {recovers}, true},
      {"recovery_of_a_daemon", true, two, {recovers}, true},
  };
  return all;
}

class LeaseCrash : public testing::TestWithParam<LeaseScenario> {
 protected:
  void die_everywhere(Death death, int first, int stride) {
    for (int n = first;; n += stride) {
      ASSERT_LT(n, 500);
      LeaseStage stage(GetParam());
      const bool finished = stage.die_at(n, death);
      stage.settle();
      stage.expect_whole(GetParam().name + " at event " + std::to_string(n));
      stage.expect_kept(may_change());
      expect_answered(stage);
      if (HasFailure()) return;
      if (finished || (death == Death::power_cut && stage.answered == std::ssize(GetParam().change))) {
        EXPECT_GT(n, 3) << "so few events cannot be a lease";
        return;
      }
    }
  }
  // Its recovery dies, too, at each of its events, and the next one has to settle what both left.
  void recovery_dies_everywhere() {
    for (int n = 2;; n += 5)
      for (int m = 1;; m += 4) {
        ASSERT_LT(m, 500);
        LeaseStage stage(GetParam());
        const bool finished = stage.die_at(n, Death::signal);
        if (finished) return;
        const bool settled = stage.die_settling_at(m, Death::signal);
        stage.settle();
        stage.expect_whole(GetParam().name + " at event " + std::to_string(n) + ", then " + std::to_string(m));
        stage.expect_kept(may_change());
        expect_answered(stage);
        if (HasFailure()) return;
        if (settled) break;
      }
  }
  static std::set<std::string> may_change() {
    if (GetParam().reboots) return {};
    return {"big", "new", "new-1", "new-2", "newer", "bigger"};
  }
  // What was answered holds.
  static void expect_answered(LeaseStage& stage) {
    const std::string& name = GetParam().name;
    const int answered = stage.answered;
    const auto now = LeaseStage::live(*stage.world.open());
    const auto expect_there = [&](const std::string& lease, bool there) {
      EXPECT_EQ(now.contains(lease), there) << lease << " after " << answered << " answers";
    };
    EXPECT_EQ(now.contains("new-1"), now.contains("new-2"));
    if (answered > 0) {
      if (name == "reuse" || name == "recut") expect_there("new", true);
      if (name == "several") expect_there("new-1", true);
      if (name == "release") expect_there("big", false);
      if (name == "resize") {
        EXPECT_EQ(now.at("big").grant->devices[0].profile, "1g.5gb");
      }
    }
    if (name == "resize" || name == "park") expect_there("big", true);
    if (name == "park" && answered == 2) {
      EXPECT_EQ(now.at("big").state, api::LeaseState::active);
    }
    if (name != "turns") return;
    if (answered >= 2) expect_there("new", false);
    if (answered >= 3) expect_there("newer", true);
    if (answered == 5) expect_there("bigger", true);
  }
};

TEST_P(LeaseCrash, OfTheProcess) { die_everywhere(Death::signal, 1, 1); }
TEST_P(LeaseCrash, OfThePower) { die_everywhere(Death::power_cut, 1, 1); }
TEST_P(LeaseCrash, OfItsRecovery) {
  const std::string& name = GetParam().name;
  if (name != "recut" && name != "recovery") GTEST_SKIP() << "the recovery of the others is the same";
  recovery_dies_everywhere();
}

INSTANTIATE_TEST_SUITE_P(All, LeaseCrash, testing::ValuesIn(lease_scenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace partita::node
