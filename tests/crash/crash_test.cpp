// An apply that ends at its n-th event (driver call or database write), for every n: the next one finds the old layout
// or the new one, never a half.
#include "scenario.h"

namespace partita::node {
namespace {

class Crash : public testing::TestWithParam<Scenario> {};

TEST_P(Crash, LeavesTheOldLayoutOrTheNewOne) {
  Stage stage(GetParam());
  for (const bool by_signal : {false, true}) {
    int n = 1;
    for (; !stage.apply_dying_at(n, by_signal); ++n) {
      ASSERT_LT(n, 500);
      stage.settle();
      stage.expect_whole(GetParam().name + " at event " + std::to_string(n));
      if (HasFailure()) return;
      stage.set_up();
    }
    EXPECT_GT(n, 10) << "so few events cannot be an apply";
    EXPECT_EQ(drawings(stage.world.state()), stage.new_layout);
    stage.set_up();
  }
}

TEST_P(Crash, AgainWhileItRecovers) {
  Stage stage(GetParam());
  for (int n = 2; !stage.apply_dying_at(n, true); n += 9) {
    int deaths = 0;
    for (int m = 1; !stage.settle_dying_at(m); ++m) ASSERT_LT(++deaths, 500);
    stage.expect_whole(GetParam().name + " at event " + std::to_string(n));
    if (HasFailure()) return;
    stage.set_up();
  }
}

// Reading while it is half done shows what is unfinished.
TEST(CrashStatus, TellsWhatIsUnfinished) {
  const Scenario scenario = scenarios().at(0);
  Stage stage(scenario);
  ASSERT_FALSE(stage.apply_dying_at(20, true));
  const auto status = value(stage.world.open()->status());
  EXPECT_THAT(status.notes, testing::Contains(testing::HasSubstr("unfinished: the apply that pid")));
  const auto answer = value(stage.world.apply(scenario.settling(stage.world)));
  EXPECT_THAT(answer.recovered, testing::ElementsAre(testing::HasSubstr("finished the apply that pid")));
}

INSTANTIATE_TEST_SUITE_P(All, Crash, testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace partita::node
