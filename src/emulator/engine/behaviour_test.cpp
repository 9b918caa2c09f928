// The law of load, power, heat and time, on a clock that the tests set.
#include "emulator/engine/behaviour.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"
#include "emulator/engine/test_sleeper.h"

namespace partita::emulator {
namespace {

using std::chrono::milliseconds;
using test::Sleeper;
using test::TestFolder;

// A node of one A100 and one H100-like GPU with MIG off, whose clock stands still.
class Behaviour : public ::testing::Test {
 protected:
  explicit Behaviour(bool mig = false) {
    clock_.time = Time(milliseconds(1'800'000'000'000));
    NodeSpec spec = test::node({test::a100(0), test::a100(1)});
    for (GpuSpec& gpu : spec.gpus) gpu.power_limit_mw = 400'000, gpu.boost_clock_mhz = 1410;
    EXPECT_TRUE(Engine::create(folder_.path(), spec));
    engine_.emplace(std::move(*Engine::open(folder_.path(), {&clock_, {}})));
    EXPECT_EQ(engine_->reboot(), kSuccess);  // on this clock
    NvmlReturn activation = kSuccess;
    if (mig) engine_->set_mig_mode(0, true, activation);
  }
  void pass(int ms) { clock_.time += milliseconds(ms); }

  TestFolder folder_;
  ManualClock clock_;
  std::optional<Engine> engine_;
};
class BehaviourMig : public Behaviour {
 protected:
  BehaviourMig() : Behaviour(true) {}
};

TEST_F(Behaviour, AnIdleGpuIsColdAndSlow) {
  const GpuReadings now = engine_->readings(0);
  EXPECT_EQ(now.sm, 0);
  EXPECT_EQ(now.any, 0);
  EXPECT_EQ(now.memory_used_bytes, 0U);
  EXPECT_EQ(now.power_mw, 60'000U);
  EXPECT_EQ(now.power_limit_mw, 400'000U);
  EXPECT_EQ(now.degrees, 30);
  EXPECT_EQ(now.sm_clock_mhz, 210U);
  EXPECT_EQ(now.energy_mj, 0U);
}

TEST_F(Behaviour, AHolderLoadsItWithinASecondAndWarmsIt) {
  const Sleeper holder;
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 3ULL << 30), kSuccess);
  EXPECT_EQ(engine_->readings(0).sm, 0) << "the counter averages over the last second";
  EXPECT_EQ(engine_->readings(0).sm_clock_mhz, 1410U);
  pass(500);
  EXPECT_DOUBLE_EQ(engine_->readings(0).any, 0.5);
  pass(500);
  const GpuReadings busy = engine_->readings(0);
  EXPECT_EQ(busy.sm, 1);
  EXPECT_EQ(busy.memory, 0.5);
  EXPECT_EQ(busy.power_mw, 360'000U);
  EXPECT_EQ(busy.memory_used_bytes, 3ULL << 30);
  EXPECT_LT(busy.degrees, 32);
  pass(29'000);
  EXPECT_NEAR(engine_->readings(0).degrees, 30 + 45 * (1 - std::exp(-1)), 1e-6) << "one time constant";
  pass(600'000);
  EXPECT_NEAR(engine_->readings(0).degrees, 75, 1e-3);
  EXPECT_EQ(engine_->readings(1).power_mw, 60'000U) << "the other GPU is idle";
}

TEST_F(Behaviour, IdleFallsBack) {
  Sleeper holder;
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 1ULL << 30), kSuccess);
  pass(60'000);
  const double warm = engine_->readings(0).degrees;
  holder.end();
  const GpuReadings ended = engine_->readings(0);
  EXPECT_EQ(ended.any, 1) << "seen now: the last second was busy";
  EXPECT_EQ(ended.memory_used_bytes, 0U);
  EXPECT_EQ(engine_->summary(0).holder_count, 0) << "who reads removes the dead";
  pass(1000);
  EXPECT_EQ(engine_->readings(0).any, 0);
  EXPECT_EQ(engine_->readings(0).power_mw, 60'000U);
  EXPECT_LT(engine_->readings(0).degrees, warm);
  pass(600'000);
  EXPECT_NEAR(engine_->readings(0).degrees, 30, 1e-3);
}

TEST_F(Behaviour, APartialLoad) {
  const Sleeper one, two, three;
  ASSERT_EQ(engine_->hold(0, {}, {}, one.pid(), 0, 0.25), kSuccess);
  ASSERT_EQ(engine_->hold(0, {}, {}, two.pid(), 0, 0.5), kSuccess);
  EXPECT_EQ(engine_->hold(0, {}, {}, three.pid(), 0, 1.5), kInvalidArgument);
  pass(1000);
  EXPECT_EQ(engine_->readings(0).sm, 0.75);
  ASSERT_EQ(engine_->hold(0, {}, {}, three.pid(), 0, 1), kSuccess);
  pass(1000);
  EXPECT_EQ(engine_->readings(0).sm, 1) << "no more than all";
}

TEST_F(Behaviour, EnergyAndTotalsAreIntegrals) {
  const Sleeper holder;
  pass(10'000);
  EXPECT_EQ(engine_->readings(0).energy_mj, 600'000U);  // 60 W for 10 s
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 0), kSuccess);
  const GpuReadings before = engine_->readings(0);
  pass(11'000);
  const GpuReadings after = engine_->readings(0);
  // One second of which half counts, then ten.
  EXPECT_DOUBLE_EQ(after.sm_total_ms - before.sm_total_ms, 10'500);
  EXPECT_EQ(after.energy_mj - before.energy_mj, 11 * 60'000U + 10'500U * 300);
}

TEST_F(Behaviour, ALowerPowerLimitCapsPowerAndClock) {
  const Sleeper holder;
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 0), kSuccess);
  pass(60'000);
  const auto energy = engine_->readings(0).energy_mj;
  const auto lower = [](SettingsRecord& settings) {
    settings.power_limit_mw = 200'000;
    return kSuccess;
  };
  ASSERT_EQ(engine_->change_settings(0, lower), kSuccess);
  EXPECT_EQ(engine_->readings(0).power_mw, 180'000U);
  EXPECT_EQ(engine_->readings(0).energy_mj, energy) << "what was counted stays";
  EXPECT_EQ(engine_->readings(0).sm_clock_mhz, 810U);
  EXPECT_EQ(engine_->change_settings(0, [](SettingsRecord&) { return kNotSupported; }), kNotSupported);
  ASSERT_EQ(engine_->reboot(), kSuccess);
  EXPECT_EQ(engine_->settings(0).power_limit_mw, 0U) << "until the driver is loaded anew";
  EXPECT_EQ(engine_->readings(0).degrees, 30);
}

TEST_F(BehaviourMig, InstancesHaveTheirOwn) {
  GpuInstanceState gi, other;
  ComputeInstanceState ci, ci_other;
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, gi), kSuccess);
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, other), kSuccess);
  ASSERT_EQ(engine_->create_compute_instance(0, gi.id, 0, 0, std::nullopt, ci), kSuccess);  // 14 of 42 SMs
  ASSERT_EQ(engine_->create_compute_instance(0, other.id, 0, 2, std::nullopt, ci_other), kSuccess);
  const Sleeper holder;
  ASSERT_EQ(engine_->hold(0, gi.id, ci.id, holder.pid(), 1ULL << 30), kSuccess);
  pass(1000);
  const auto busy = engine_->readings(0, gi.id), idle = engine_->readings(0, other.id);
  ASSERT_TRUE(busy && idle);
  EXPECT_NEAR(busy->sm, 14.0 / 42, 1e-6);
  EXPECT_EQ(busy->memory_used_bytes, 1ULL << 30);
  EXPECT_EQ(idle->sm, 0);
  EXPECT_EQ(idle->memory_used_bytes, 0U);
  EXPECT_NEAR(engine_->readings(0).sm, 14.0 / 108, 1e-6);
  EXPECT_EQ(engine_->readings(0).any, 1);
  EXPECT_FALSE(engine_->readings(0, 14));
  EXPECT_FALSE(engine_->readings(7, 0));
}

TEST_F(Behaviour, TheNodesClockGoesOnWhenTold) {
  const Time before = engine_->now();
  EXPECT_EQ(before, clock_.time);
  const Sleeper holder;
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 0), kSuccess);
  ASSERT_EQ(engine_->advance(milliseconds(600'000)), kSuccess);
  EXPECT_EQ(engine_->now() - before, milliseconds(600'000));
  EXPECT_NEAR(engine_->readings(0).degrees, 75, 1e-3);
  EXPECT_EQ(engine_->advance(milliseconds(-1)), kInvalidArgument);
  const Engine other = std::move(*Engine::open(folder_.path(), {&clock_, {}}));
  EXPECT_EQ(other.now(), engine_->now()) << "for every process";
}

TEST_F(Behaviour, AClockThatGoesBackDoesNoHarm) {
  const Sleeper holder;
  pass(5000);
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 0), kSuccess);
  pass(-4000);
  const GpuReadings now = engine_->readings(0);
  EXPECT_EQ(now.sm, 0);
  EXPECT_EQ(now.degrees, 30);
}

// Totals never fall, loads stay within 0 to 1, and a total grows by the mean load times the time.
TEST(LoadCurve, IsMonotoneAndBounded) {
  EXPECT_TRUE(rc::check([] {
    GpuSpec gpu = test::a100(0);
    GpuRecord record;
    record.holder_count = 1;
    std::int64_t now = 0;
    double total = 0;
    for (int step = 0; step < 20; ++step) {
      record.holders[0].load = static_cast<float>(*rc::gen::inRange(0, 101)) / 100;
      follow_holders(gpu, record, now);
      const double from = load_at(record.meter.sm, now);
      RC_ASSERT(from >= 0 && from <= 1);
      const int passed = *rc::gen::inRange(0, 5000);
      now += passed;
      const double after = total_at(record.meter.sm, now), to = load_at(record.meter.sm, now);
      RC_ASSERT(after >= total - 1e-6);
      RC_ASSERT(after - total <= std::max({from, to, static_cast<double>(record.meter.sm.to)}) * passed + 1e-3);
      RC_ASSERT(after - total >= std::min({from, to, static_cast<double>(record.meter.sm.to)}) * passed - 1e-3);
      const double degrees = degrees_at(record.meter, now);
      RC_ASSERT(degrees >= kIdleDegrees - 1e-6 && degrees <= kBusyDegrees + 1e-6);
      total = after;
    }
  }));
}

}  // namespace
}  // namespace partita::emulator
