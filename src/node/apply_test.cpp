// The situations that people reported (case numbers) and the rules of an apply.
#include "node/test_support.h"

namespace partita::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kInUse = 19;
constexpr int kInsufficientResources = 23;
constexpr int kUnknown = 999;

TEST(Apply, CutsAnAmpereGpuThatHadMigOffWithAReset) {
  EmulatedWorld world("dgx-a100");
  const auto answer = value(world.apply(world.cut("[0]", R"("1g.5gb": 7)")));
  EXPECT_EQ(draw(answer.after.gpus[0]), "on 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6");
  EXPECT_EQ(draw(answer.after.gpus[1]), "off");
  ASSERT_EQ(answer.plan.changes.size(), 1U);
  EXPECT_TRUE(answer.plan.changes[0].needs_reset);
  EXPECT_THAT(answer.plan.changes[0].reset_together, ElementsAre(answer.after.gpus[0].pci_bus_id));
  EXPECT_EQ(answer.plan.gpu_instances_created, 7);
  EXPECT_THAT(answer.pending_reset, IsEmpty());
}

TEST(Apply, FollowsTheDriversTablesWhereTheyDifferFromTheCatalog) {
  EmulatedWorld world("gpus: [{board: a100-sxm4-40gb, profiles: {3g.20gb: {spelling: 3g.21gb, memory: 20GiB}}}]");
  const auto request = world.cut("[0]", R"("3g.20gb": 2)");
  EXPECT_EQ(value(world.open()->plan(request)).gpu_instances_created, 2);
  const auto answer = value(world.apply(request));
  EXPECT_EQ(draw(answer.after.gpus[0]), "on 3g.21gb@0 3g.21gb@4");
}

TEST(Apply, TheSameAgainChangesNothing) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0, 1]", R"("2g.20gb": 3)"));
  world.recorder.steps.clear();
  const auto answer = value(world.apply(world.cut("[0, 1]", R"("2g.20gb": 3)")));
  EXPECT_THAT(answer.plan.changes, IsEmpty());
  EXPECT_EQ(answer.plan.unchanged.size(), 2U);
  EXPECT_EQ(answer.plan.gpu_instances_kept, 6);
  EXPECT_THAT(world.recorder.steps, IsEmpty());
}

TEST(Apply, EnabledAndEmptyIsANormalState) {  // case 19
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("all", ""));
  const auto status = value(world.open()->status());
  for (const layout::Gpu& gpu : status.state.gpus) EXPECT_EQ(draw(gpu), "on");
  EXPECT_THAT(status.notes, IsEmpty());
}

TEST(Apply, EmptyDevicesDestroyIdleInstancesOfOurs) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", R"("3g.40gb": 2)"));
  world.must_apply(world.cut("[0]", ""));
  EXPECT_EQ(world.draw(0), "on");
}

TEST(Apply, KeepsTheBusyInstanceAndTheIdleOneThatFits) {  // case 7
  EmulatedWorld world("hgx-a100-4");
  world.must_apply(world.exactly({{0, {"2g.10gb@0", "1g.5gb@2", "1g.5gb@3", "3g.20gb@4"}}}));
  emulator::Child user;
  world.hold(0, "1g.5gb@2", user.pid());
  const auto kept = world.device(0, "1g.5gb@3");
  const auto answer = value(world.apply(world.cut("[0]", R"("1g.5gb": 7)")));
  EXPECT_EQ(draw(answer.after.gpus[0]), "on 1g.5gb@0 1g.5gb@1 1g.5gb@2* 1g.5gb@3 1g.5gb@4 1g.5gb@5 1g.5gb@6");
  EXPECT_EQ(answer.plan.gpu_instances_destroyed, 2);
  EXPECT_EQ(answer.plan.gpu_instances_created, 5);
  EXPECT_EQ(world.device(0, "1g.5gb@3"), kept);
}

TEST(Apply, BusyInstanceOnAnA30CountsAndStays) {  // case 9
  EmulatedWorld world("a30x2");
  world.must_apply(world.exactly({{0, {"1g.6gb@0"}}}));
  emulator::Child user;
  world.hold(0, "1g.6gb@0", user.pid());
  const auto answer = value(world.apply(world.cut("[0]", R"("1g.6gb": 2)")));
  EXPECT_EQ(answer.plan.gpu_instances_destroyed, 0);
  EXPECT_EQ(answer.plan.gpu_instances_created, 1);
  EXPECT_THAT(draw(answer.after.gpus[0]), HasSubstr("1g.6gb@0*"));
}

TEST(Apply, ForeignInstanceWithoutComputeIsShownAndKept) {  // case 21
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", ""));
  world.make_foreign(0, "3g.40gb@4", false);
  EXPECT_EQ(world.draw(0), "on 3g.40gb@4-*");
  const auto refused = world.apply(world.cut("[0]", R"("1g.10gb": 7)"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("not made by partita"));
  EXPECT_EQ(world.draw(0), "on 3g.40gb@4-*");
}

TEST(Apply, AdoptedInstancesBecomeOurs) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0, 1]", ""));
  world.make_foreign(0, "3g.40gb@4", false);
  world.make_foreign(1, "3g.40gb@4");
  world.must_apply(world.cut("[0]", R"("1g.10gb": 7)", {.adopt = true, .hooks = {}}));
  EXPECT_THAT(world.draw(0), HasSubstr("1g.10gb@6"));
  EXPECT_EQ(world.draw(1), "on 3g.40gb@4*") << "a GPU that was not asked for";
  // Adopted where nothing has to change, too.
  world.must_apply(world.cut("[1]", R"("3g.40gb": 1)", {.adopt = true, .hooks = {}}));
  EXPECT_EQ(world.draw(1), "on 3g.40gb@4");
}

TEST(Apply, FilterThatMatchesNothingIsAnError) {  // case 26
  EmulatedWorld world("dgx-h100");
  const auto refused = world.apply(world.layout(
      "    - {devices: all, device-filter: \"0x20B010DE\", mig-enabled: true, mig-devices: {\"1g.5gb\": 7}}\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_THAT(lower(all_of(refused.error())), HasSubstr("0x233010de"));
}

TEST(Apply, SwapsOneInstanceAndTouchesNothingElse) {  // case 27
  EmulatedWorld world("dgx-a100");
  world.must_apply(world.cut("all", R"("3g.20gb": 2)"));
  world.must_apply(world.exactly({{3, {"4g.20gb@0", "2g.10gb@4"}}}));
  emulator::Child user;
  world.hold(3, "4g.20gb@0", user.pid());
  const auto before = world.state();
  world.recorder.steps.clear();
  const auto answer = value(world.apply(world.cut("[3]", R"("4g.20gb": 1, "1g.5gb": 2)")));
  EXPECT_EQ(draw(answer.after.gpus[3]), "on 4g.20gb@0* 1g.5gb@4 1g.5gb@5");
  EXPECT_EQ(answer.plan.gpu_instances_destroyed, 1);
  EXPECT_EQ(answer.plan.gpu_instances_created, 2);
  ASSERT_EQ(answer.plan.changes.size(), 1U);
  for (const std::string& step : world.recorder.steps) EXPECT_THAT(step, HasSubstr("GPU 3: "));
  for (std::size_t i = 0; i < before.gpus.size(); ++i)
    EXPECT_EQ(i == 3 || draw(answer.after.gpus[i]) == draw(before.gpus[i]), true) << i;
}

TEST(Apply, DemandIsPlacedWhereItDisturbsLeast) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0, 1]", ""));
  const auto answer = value(world.apply(world.demand("3g.40gb", 3)));
  EXPECT_EQ(answer.plan.gpu_instances_created, 3);
  EXPECT_EQ(answer.plan.changes.size(), 2U);
  const auto again = value(world.apply(world.demand("3g.40gb", 3)));
  EXPECT_THAT(again.plan.changes, IsEmpty()) << "three idle ones serve";
}

TEST(Apply, DemandIsServedByTheBoardsThatSpellItSo) {
  EmulatedWorld world("mixed");
  world.must_apply(world.cut("all", ""));
  const auto answer = value(world.apply(world.demand("1g.6gb", 4)));
  ASSERT_EQ(answer.plan.changes.size(), 1U);
  EXPECT_EQ(answer.plan.changes[0].board->id, "a30-24gb") << "an A100's 1g.5gb is a smaller thing";
  EXPECT_FALSE(world.apply(world.demand("1g.6gb", 5)));
  EXPECT_TRUE(value(world.apply(world.demand("1g.10gb", 8))).plan.warnings.empty());
}

TEST(Apply, OnlyAdministratorsChangeTheNode) {
  EmulatedWorld world("dgx-h100");
  auto request = world.cut("[0]", R"("1g.10gb": 1)");
  request.caller = {1000, "bob", false, false, {}};
  const auto refused = world.apply(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::denied);
  EXPECT_TRUE(world.open()->plan(request)) << "planning is free";
  EXPECT_EQ(world.draw(0), "off");
}

TEST(Apply, PlanChangesNothingAndAgreesWithApply) {
  EmulatedWorld world("dgx-a100");
  const auto request = world.cut("[2]", R"("2g.10gb": 2, "3g.20gb": 1)");
  const auto plan = value(world.open()->plan(request));
  EXPECT_EQ(world.draw(2), "off");
  EXPECT_FALSE(std::filesystem::exists(world.options.state_dir));
  const auto answer = value(world.apply(request));
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].plan.steps, answer.plan.changes[0].plan.steps);
  EXPECT_EQ(answer.after.gpus[2].instances.size(), 3U);
}

TEST(Apply, DisablesIdleAndRefusesBusy) {
  EmulatedWorld world("dgx-a100");
  world.must_apply(world.cut("[0, 1]", R"("3g.20gb": 2)"));
  emulator::Child user;
  world.hold(1, "3g.20gb@4", user.pid());
  const auto refused = world.apply(world.off("[0, 1]"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("pid " + std::to_string(user.pid())));
  EXPECT_EQ(world.draw(0), "on 3g.20gb@0 3g.20gb@4");
  world.must_apply(world.off("[0]"));
  EXPECT_EQ(world.draw(0), "off");
}

TEST(Apply, ModeOnlyLeavesInstancesAlone) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", R"("3g.40gb": 2)"));
  world.must_apply(world.cut("[0, 1]", R"("1g.10gb": 7)", {.mode_only = true, .hooks = {}}));
  EXPECT_EQ(world.draw(0), "on 3g.40gb@0 3g.40gb@4");
  EXPECT_EQ(world.draw(1), "on");
  const auto refused = world.apply(world.off("[0]", {.mode_only = true, .hooks = {}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
}

TEST(Apply, SkipResetLeavesTheChangePending) {
  EmulatedWorld world("dgx-a100");
  const auto request = world.cut("[0]", R"("1g.5gb": 2)", {.skip_reset = true, .hooks = {}});
  const auto answer = value(world.apply(request));
  EXPECT_THAT(answer.pending_reset, ElementsAre(answer.after.gpus[0].uuid));
  EXPECT_EQ(draw(answer.after.gpus[0]), "off (then on)");
  EXPECT_THAT(value(world.open()->status()).notes, ElementsAre(HasSubstr("after a reset")));
  world.must_apply(world.cut("[0]", R"("1g.5gb": 2)"));
  EXPECT_EQ(world.state().gpus[0].instances.size(), 2U);
}

TEST(Apply, DriverThatRefusesGetsTheOldLayoutBack) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", R"("3g.40gb": 2)"));
  for (const char* function :
       {"nvmlGpuInstanceDestroy", "nvmlComputeInstanceDestroy", "nvmlDeviceCreateGpuInstanceWithPlacement",
        "nvmlGpuInstanceCreateComputeInstanceWithPlacement"}) {
    world.fault(function, kUnknown);
    const auto failed = world.apply(world.cut("[0]", R"("1g.10gb": 7)"));
    ASSERT_FALSE(failed) << function;
    EXPECT_EQ(failed.error().code, ErrorCode::driver);
    EXPECT_THAT(failed.error().message, HasSubstr(function));
    EXPECT_THAT(failed.error().details, Contains(HasSubstr("the old layout is back")));
    EXPECT_EQ(world.draw(0), "on 3g.40gb@0 3g.40gb@4") << function;
  }
}

TEST(Apply, DestroyAnsweredInUseIsPlannedAround) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.exactly({{0, {"1g.10gb@0", "1g.10gb@1", "1g.10gb@2"}}}));
  world.fault("nvmlComputeInstanceDestroy", kInUse);
  world.fault("nvmlGpuInstanceDestroy", kInUse);
  const auto answer = value(world.apply(world.cut("[0]", R"("1g.10gb": 2)")));
  EXPECT_EQ(answer.after.gpus[0].instances.size(), 2U);
  EXPECT_THAT(world.recorder.notes, Contains(HasSubstr("planning again")));
}

TEST(Apply, CreateAnsweredInsufficientIsPlannedAgain) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", ""));
  world.fault("nvmlDeviceCreateGpuInstanceWithPlacement", kInsufficientResources);
  world.must_apply(world.cut("[0]", R"("1g.10gb": 3)"));
  EXPECT_EQ(world.state().gpus[0].instances.size(), 3U);
}

TEST(Apply, ForceSaysFirstWhatItHits) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.cut("[0]", ""));
  world.make_foreign(0, "3g.40gb@4");
  const auto request = world.cut("[0]", R"("1g.10gb": 7)", {.force = true, .hooks = {}});
  EXPECT_TRUE(value(world.open()->plan(request)).forced);
  world.must_apply(request);
  EXPECT_THAT(world.recorder.notes, Contains(HasSubstr("3g.40gb@4: not made by partita")));
  EXPECT_EQ(world.state().gpus[0].instances.size(), 7U);
}

TEST(Apply, MarksOfAnEarlierBootAreVoid) {
  EmulatedWorld world("dgx-h100");
  world.must_apply(world.exactly({{0, {"3g.40gb@4"}}}));
  value(emulator::reboot(world.emulated.name));
  {
    auto driver = world.open_driver();
    value(driver.set_mig_mode(value(driver.state()).gpus[0].uuid, true));
  }
  world.make_foreign(0, "3g.40gb@4");
  EXPECT_EQ(world.draw(0), "on 3g.40gb@4*");
}

}  // namespace
}  // namespace partita::node
