// Faults, broken GPUs, events, and what a load of the driver leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "emulator/engine/engine.h"
#include "emulator/engine/test_folder.h"
#include "emulator/engine/test_nodes.h"
#include "emulator/engine/test_sleeper.h"

namespace partita::emulator {
namespace {

using std::chrono::milliseconds;
using test::Sleeper;
using test::TestFolder;
using ::testing::ElementsAre;

class DriverFaults : public ::testing::Test {
 protected:
  explicit DriverFaults(bool files = false) {
    clock_.time = Time(milliseconds(1'800'000'000'000));
    NodeSpec spec = test::with_mig_on(test::node({test::a100(0), test::a100(1, false, false)}, files));
    for (ProfileSpec& profile : spec.gpus[0].profiles) profile.create_ms = 200, profile.destroy_ms = 210;
    EXPECT_TRUE(Engine::create(folder_.path(), spec));
    engine_.emplace(std::move(
        *Engine::open(folder_.path(), {&clock_, [this](milliseconds time) { waited_.push_back(time.count()); }})));
  }
  int strikes(const char* function, int gpu, int calls) {
    int count = 0;
    for (int i = 0; i < calls; ++i) count += engine_->take_fault(function, gpu).has_value();
    return count;
  }

  TestFolder folder_;
  ManualClock clock_;
  std::vector<std::int64_t> waited_;
  std::optional<Engine> engine_;
};

class DriverLoad : public DriverFaults {
 protected:
  DriverLoad() : DriverFaults(true) {}
};

TEST_F(DriverFaults, StrikeByChanceTheSameForASeed) {
  std::vector<bool> first;
  for (const std::uint64_t seed : {7, 7, 8}) {
    ASSERT_EQ(engine_->clear_faults(), kSuccess);
    ASSERT_EQ(engine_->add_fault({.function = "nvmlX", .probability = 0.25, .seed = seed, .answer = kUnknown}),
              kSuccess);
    std::vector<bool> struck;
    for (int i = 0; i < 400; ++i) struck.push_back(engine_->take_fault("nvmlX", 0).has_value());
    const auto count = std::ranges::count(struck, true);
    EXPECT_GT(count, 70);
    EXPECT_LT(count, 130);
    if (first.empty()) first = struck;
    EXPECT_EQ(struck == first, seed == 7) << seed;
  }
  EXPECT_EQ(strikes("nvmlY", 0, 100), 0);
}

TEST_F(DriverFaults, CountStrikesNotCalls) {
  ASSERT_EQ(engine_->add_fault({.calls = 3, .probability = 0.5, .seed = 1, .answer = kTimeout}), kSuccess);
  EXPECT_EQ(strikes("nvmlX", 0, 200), 3);
  EXPECT_TRUE(engine_->faults().empty());
}

TEST_F(DriverFaults, DelayThenAnswer) {
  ASSERT_EQ(engine_->add_fault({.delay = Fault::Delay{milliseconds(5), milliseconds(5)}}), kSuccess);
  ASSERT_EQ(engine_->add_fault({.function = "nvmlX",
                                .calls = 1,
                                .delay = Fault::Delay{milliseconds(10), milliseconds(80)},
                                .answer = kInUse}),
            kSuccess);
  EXPECT_EQ(engine_->take_fault("nvmlY", 0), std::nullopt);
  EXPECT_EQ(engine_->take_fault("nvmlX", 0), kInUse);
  EXPECT_EQ(engine_->take_fault("nvmlX", 0), std::nullopt);
  ASSERT_EQ(waited_.size(), 3U);
  EXPECT_EQ(waited_[0], 5);
  EXPECT_GE(waited_[1], 15);
  EXPECT_LE(waited_[1], 85);
  EXPECT_EQ(waited_[2], 5) << "the first one stays";
}

TEST_F(DriverFaults, RaiseXidsAndBreakGpus) {
  const std::uint64_t next = engine_->next_event();
  ASSERT_EQ(engine_->add_fault({.function = "nvmlX", .gpu = 1, .calls = 1, .xid = 31, .condition = Condition::lost}),
            kSuccess);
  EXPECT_EQ(engine_->take_fault("nvmlX", 0), std::nullopt);
  EXPECT_EQ(engine_->take_fault("nvmlX", 1), std::nullopt);
  EXPECT_EQ(engine_->gpu(1).condition, Condition::lost);
  const auto event = engine_->event(next);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, kXidEvent);
  EXPECT_EQ(event->data, 31U);
  EXPECT_EQ(event->gpu, 1);
  EXPECT_EQ(event->time, clock_.time);
  EXPECT_EQ(engine_->event(next + 1)->data, 79U) << "who is lost fell off the bus";
}

TEST_F(DriverFaults, CannotBeAnything) {
  EXPECT_EQ(engine_->add_fault({}), kInvalidArgument) << "does nothing";
  EXPECT_EQ(engine_->add_fault({.probability = 1.5, .answer = 1}), kInvalidArgument);
  EXPECT_EQ(engine_->add_fault({.delay = Fault::Delay{milliseconds(2), milliseconds(1)}}), kInvalidArgument);
  EXPECT_EQ(engine_->add_fault({.delay = Fault::Delay{milliseconds(-2), milliseconds(1)}}), kInvalidArgument);
  EXPECT_EQ(engine_->add_fault({.function = "nvmlX", .measured_times = 1}), kInvalidArgument);
  EXPECT_EQ(engine_->add_fault({.answer = 1, .linger = milliseconds(1)}), kInvalidArgument);
  for (int i = 0; i < kMaxFaults; ++i) ASSERT_EQ(engine_->add_fault({.calls = 1, .answer = 1}), kSuccess);
  EXPECT_EQ(engine_->add_fault({.calls = 1, .answer = 1}), kInsufficientResources);
}

TEST_F(DriverFaults, MeasuredTimes) {
  GpuInstanceState made;
  ASSERT_EQ(engine_->add_fault({.gpu = 0, .measured_times = 2}), kSuccess);
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, made), kSuccess);
  ASSERT_EQ(engine_->destroy_gpu_instance(0, made.id, made.serial), kSuccess);
  EXPECT_EQ(engine_->create_gpu_instance(0, 99, std::nullopt, made), kInvalidArgument) << "refused at once";
  EXPECT_THAT(waited_, ElementsAre(400, 420));
  ASSERT_EQ(engine_->create_gpu_instance(1, 9, std::nullopt, made), kSuccess);
  EXPECT_EQ(waited_.size(), 2U) << "the other GPU is fast";
}

TEST_F(DriverFaults, AnInstanceIsInUseForAWhileAfterItsProcessEnded) {
  GpuInstanceState gi;
  ComputeInstanceState ci;
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, gi), kSuccess);
  ASSERT_EQ(engine_->create_compute_instance(0, gi.id, 0, 2, std::nullopt, ci), kSuccess);
  ASSERT_EQ(engine_->add_fault({.linger = milliseconds(3000)}), kSuccess);
  Sleeper holder;
  ASSERT_EQ(engine_->hold(0, gi.id, ci.id, holder.pid(), 0), kSuccess);
  EXPECT_EQ(engine_->destroy_compute_instance(0, gi.id, 0, ci.id, 0), kInUse);
  holder.end();
  EXPECT_EQ(engine_->destroy_compute_instance(0, gi.id, 0, ci.id, 0), kInUse) << "its end is noticed now";
  EXPECT_TRUE(engine_->gpu(0).holders.empty());
  clock_.time += milliseconds(2999);
  EXPECT_EQ(engine_->destroy_compute_instance(0, gi.id, 0, ci.id, 0), kInUse);
  clock_.time += milliseconds(1);
  EXPECT_EQ(engine_->destroy_compute_instance(0, gi.id, 0, ci.id, 0), kSuccess);
  EXPECT_EQ(engine_->destroy_gpu_instance(0, gi.id, 0), kSuccess);
}

TEST_F(DriverFaults, AResetIsRequired) {
  GpuInstanceState made;
  NvmlReturn activation = kSuccess;
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, made), kSuccess);
  ASSERT_EQ(engine_->set_condition(0, Condition::reset_required), kSuccess);
  EXPECT_EQ(engine_->gpu(0).condition, Condition::reset_required);
  EXPECT_EQ(engine_->gpu(0).instances.size(), 1U) << "it can be read";
  EXPECT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, made), kResetRequired);
  EXPECT_EQ(engine_->destroy_gpu_instance(0, made.id, 0), kResetRequired);
  EXPECT_EQ(engine_->set_mig_mode(0, false, activation), kResetRequired);
  EXPECT_EQ(engine_->hold(0, {}, {}, ::getpid(), 0), kResetRequired);
  ASSERT_EQ(engine_->reset({0}), kSuccess);
  EXPECT_EQ(engine_->gpu(0).condition, Condition::good);
  EXPECT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, made), kSuccess);
}

TEST_F(DriverFaults, OffTheBusARebootDoesNotHelp) {
  const std::uint64_t next = engine_->next_event();
  ASSERT_EQ(engine_->set_condition(0, Condition::lost), kSuccess);
  ASSERT_EQ(engine_->set_condition(1, Condition::off_bus), kSuccess);
  EXPECT_EQ(engine_->event(next)->data, 79U);
  ASSERT_EQ(engine_->reboot(), kSuccess);
  EXPECT_EQ(engine_->gpu(0).condition, Condition::good);
  EXPECT_EQ(engine_->gpu(1).condition, Condition::off_bus);
  ASSERT_EQ(engine_->set_condition(1, Condition::good), kSuccess);
  EXPECT_EQ(engine_->gpu(1).condition, Condition::good);
}

// Hopper and newer lose the mode with the driver's modules, Ampere keeps it; instances go on both.
TEST_F(DriverLoad, TakesInstancesAndModes) {
  GpuInstanceState made;
  for (const int gpu : {0, 1}) ASSERT_EQ(engine_->create_gpu_instance(gpu, 9, std::nullopt, made), kSuccess);
  const auto module = folder_.path() / "root/sys/module/nvidia";
  struct stat before{}, after{};
  ASSERT_EQ(::stat(module.c_str(), &before), 0);
  const std::uint64_t boot = engine_->boot_id();
  Sleeper holder;
  ASSERT_EQ(engine_->hold(0, {}, {}, holder.pid(), 0), kSuccess);
  EXPECT_EQ(engine_->reload_driver(), kInUse);
  holder.end();
  ASSERT_EQ(engine_->reload_driver(), kSuccess);
  EXPECT_EQ(engine_->boot_id(), boot);
  EXPECT_FALSE(engine_->gpu(0).mig_current);
  EXPECT_TRUE(engine_->gpu(1).mig_current);
  for (const int gpu : {0, 1}) EXPECT_TRUE(engine_->gpu(gpu).instances.empty());
  ASSERT_EQ(::stat(module.c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino) << "seen by its inode";
}

TEST_F(DriverFaults, EventsOfChangesAndTheirEnd) {
  const std::uint64_t next = engine_->next_event();
  GpuInstanceState gi;
  ComputeInstanceState ci;
  ASSERT_EQ(engine_->create_gpu_instance(0, 9, std::nullopt, gi), kSuccess);
  ASSERT_EQ(engine_->create_compute_instance(0, gi.id, 0, 2, std::nullopt, ci), kSuccess);
  EXPECT_EQ(engine_->next_event(), next + 2);
  EXPECT_EQ(engine_->event(next)->type, kMigConfigEvent);
  EXPECT_EQ(engine_->event(next + 1)->gpu_instance, gi.id);
  EXPECT_EQ(engine_->event(next + 1)->compute_instance, ci.id);
  EXPECT_EQ(engine_->event(next + 2), std::nullopt);
  for (unsigned xid = 0; xid < 70; ++xid) ASSERT_EQ(engine_->raise_xid(0, xid + 1), kSuccess);
  EXPECT_EQ(engine_->event(next), std::nullopt) << "forgotten";
  EXPECT_EQ(engine_->event(engine_->next_event() - 1)->data, 70U);
  EXPECT_EQ(engine_->event(engine_->next_event() - 63)->data, 8U);
  EXPECT_EQ(engine_->event(engine_->next_event() - 64), std::nullopt);
}

TEST_F(DriverFaults, WhoWaitsForAnEventIsWoken) {
  const std::uint64_t next = engine_->next_event();
  EXPECT_FALSE(engine_->wait_event(next, milliseconds(0)));
  EXPECT_FALSE(engine_->wait_event(next, milliseconds(5)));
  std::atomic<bool> woken = false;
  std::jthread waiter([&] { woken = engine_->wait_event(next, milliseconds(60'000)); });
  Engine other = std::move(*Engine::open(folder_.path()));
  ASSERT_EQ(other.raise_xid(1, 63, 2, 0), kSuccess);
  waiter.join();
  EXPECT_TRUE(woken);
  EXPECT_EQ(engine_->event(next)->gpu_instance, 2);
  EXPECT_TRUE(engine_->wait_event(next, milliseconds(0)));
}

}  // namespace
}  // namespace partita::emulator
