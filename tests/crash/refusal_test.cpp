// A driver that refuses a call, at every step in turn: the old layout is back, or, when it refuses for good, the
// journal stays open and the next apply ends it.
#include "scenario.h"

namespace partita::node {
namespace {

constexpr int kUnknown = 999;
constexpr int kForGood = 100000;
constexpr const char* kFunctions[] = {"nvmlDeviceSetMigMode", "nvmlGpuInstanceDestroy", "nvmlComputeInstanceDestroy",
                                      "nvmlDeviceCreateGpuInstanceWithPlacement",
                                      "nvmlGpuInstanceCreateComputeInstanceWithPlacement"};

class Refusal : public testing::TestWithParam<Scenario> {};

// Applies with `at_event` called at the n-th event; nullopt when there was no n-th event.
std::optional<Result<api::ApplyAnswer>> disturb(Stage& stage, int n, const std::function<void()>& at_event) {
  int count = 0;
  stage.world.options.on_event = [&](std::string_view) {
    if (++count == n) at_event();
  };
  auto result = stage.world.apply(stage.scenario().disturbed(stage.world));
  stage.world.options.on_event = {};
  if (count < n) return std::nullopt;
  return result;
}

TEST_P(Refusal, OnceGetsTheOldLayoutBack) {
  Stage stage(GetParam());
  int failures = 0;
  for (const char* function : kFunctions) {
    for (int n = 1;; ++n) {
      const auto result = disturb(stage, n, [&] { stage.world.fault(function, kUnknown); });
      value(emulator::clear_faults(stage.world.emulated.name));
      if (!result) break;
      const std::string where = std::string(function) + " after event " + std::to_string(n);
      stage.expect_whole(where);
      EXPECT_EQ(drawings(stage.world.state()), *result ? stage.new_layout : stage.old_layout) << where;
      if (!*result) {
        EXPECT_EQ(result->error().code, ErrorCode::driver) << where;
        ++failures;
      }
      if (HasFailure()) return;
      stage.set_up();
    }
    stage.set_up();
  }
  EXPECT_GT(failures, 10) << "the faults met too few calls";
}

TEST_P(Refusal, ForGoodLeavesTheJournalOpenUntilItCan) {
  Stage stage(GetParam());
  int unfinished = 0;
  for (int n = 2;; n += 3) {
    const auto result = disturb(stage, n, [&] {
      for (const char* function : kFunctions) stage.world.fault(function, kUnknown, kForGood);
    });
    value(emulator::clear_faults(stage.world.emulated.name));
    if (!result) break;
    if (!*result && all_of(result->error()).contains("unfinished")) ++unfinished;
    stage.settle();
    stage.expect_whole("after event " + std::to_string(n));
    if (HasFailure()) return;
    stage.set_up();
  }
  EXPECT_GT(unfinished, 0);
}

TEST_P(Refusal, LostGpuIsSettledWhenItIsBack) {
  Stage stage(GetParam());
  int failures = 0;
  for (int n = 1;; n += 3) {
    const auto result = disturb(
        stage, n, [&] { value(emulator::set_condition(stage.world.emulated.name, "0", emulator::Condition::lost)); });
    if (result && !*result) {
      ++failures;
      // The other GPU can be worked with in the meantime; this one cannot.
      stage.settle();
      const auto refused = stage.world.apply(GetParam().disturbed(stage.world));
      EXPECT_FALSE(refused);
    }
    value(emulator::set_condition(stage.world.emulated.name, "0", emulator::Condition::good));
    if (!result) break;
    stage.settle();
    stage.expect_whole("after event " + std::to_string(n));
    if (HasFailure()) return;
    stage.set_up();
  }
  EXPECT_GT(failures, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Refusal, testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace partita::node
