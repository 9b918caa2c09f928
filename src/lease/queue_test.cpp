#include "lease/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lease/test_lease.h"
#include "plan/test_random.h"

namespace partita::lease {
namespace {

using namespace std::chrono_literals;
using namespace plan::test;
using lease::test::node;
using lease::test::profile;
using testing::ElementsAre;
using testing::IsEmpty;

const catalog::Board kBoard = lease::test::a100();
const Time kNow = Time{} + 100h;

Waiting waits(std::int64_t id, std::string user, std::string what = "1g.10gb",
              std::optional<std::chrono::milliseconds> duration = 1h) {
  Waiting one;
  one.id = id;
  one.user = std::move(user);
  one.asked = Time{} + std::chrono::seconds(id);
  one.duration = duration;
  one.requirement = profile(std::move(what));
  return one;
}

TEST(Order, PriorityThenRoundRobinThenAge) {
  std::vector<Waiting> waiting{waits(1, "a"), waits(2, "a"), waits(3, "b"), waits(4, "c"), waits(5, "c")};
  EXPECT_THAT(order(waiting, {}), ElementsAre(1, 3, 4, 2, 5));
  EXPECT_THAT(order(waiting, {{"a", 7}, {"b", 2}}), ElementsAre(4, 3, 1, 5, 2));
  waiting[4].priority = api::Priority::high;
  waiting[0].priority = api::Priority::low;
  EXPECT_THAT(order(waiting, {}), ElementsAre(5, 2, 3, 4, 1));
  EXPECT_THAT(order({}, {}), IsEmpty());
}

std::vector<Turn> plan(const layout::NodeState& state, const std::vector<Held>& held,
                       const std::vector<Waiting>& waiting) {
  Geometries geometries;
  return plan_queue(state, held, waiting, kNow, geometries);
}

// One GPU: 3g until +1h, 3g until +3h, a free slice of memory's worth: nothing.
const layout::NodeState kTwoHalves =
    node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "a").with(k3g, 4, State::leased, "b")});
const std::vector<Held> kTwoHeld{{"GPU-0", 0, false, kNow + 1h}, {"GPU-0", 4, false, kNow + 3h}};

TEST(PlanQueue, EstimateIsWhenTheRoomIsFreeAtTheLatest) {
  const auto turns = plan(kTwoHalves, kTwoHeld, {waits(1, "x", "3g.40gb"), waits(2, "y", "7g.80gb")});
  EXPECT_EQ(turns[0].at, kNow + 1h);
  EXPECT_EQ(turns[1].at, kNow + 3h);
  EXPECT_THAT(turns[0].now, IsEmpty());
  ASSERT_TRUE(turns[0].kept);
  EXPECT_EQ(turns[0].kept->places[0].start, 0);
}

TEST(PlanQueue, BackfillOnlyWhatEndsInTime) {
  const auto state = node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "a")});
  const std::vector<Held> held{{"GPU-0", 0, false, kNow + 2h}};
  const auto goes = [&](std::optional<std::chrono::milliseconds> duration) {
    const auto turns = plan(state, held, {waits(1, "x", "7g.80gb"), waits(2, "y", "3g.40gb", duration)});
    EXPECT_EQ(turns[0].at, kNow + 2h);
    return !turns[1].now.empty();
  };
  EXPECT_TRUE(goes(1h));
  EXPECT_TRUE(goes(2h));
  EXPECT_FALSE(goes(2h + 1ms));
  EXPECT_FALSE(goes(std::nullopt));
}

TEST(PlanQueue, BackfillGoesWhereItDoesNotHinder) {
  // Only GPU 1 can hold the 7g before long; the younger one goes to GPU 0 however long it lasts.
  const auto state =
      node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "a"), TestGpu(kBoard, 1).with(k1g, 0, State::leased, "b")});
  const std::vector<Held> held{{"GPU-0", 0, false, std::nullopt}, {"GPU-1", 0, false, kNow + 1h}};
  const auto turns = plan(state, held, {waits(1, "x", "7g.80gb"), waits(2, "y", "2g.20gb", std::nullopt)});
  EXPECT_EQ(turns[0].at, kNow + 1h);
  ASSERT_EQ(turns[1].now.size(), 1U);
  EXPECT_EQ(turns[1].now[0].gpu, "GPU-0");
}

TEST(PlanQueue, UnknownExpiriesGiveNoEstimateButKeepTheRoom) {
  const auto state = node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "a")});
  const std::vector<Held> held{{"GPU-0", 0, false, std::nullopt}};
  const auto turns = plan(
      state, held, {waits(1, "x", "7g.80gb"), waits(2, "y", "3g.40gb", std::nullopt), waits(3, "z", "3g.40gb", 5h)});
  EXPECT_EQ(turns[0].at, std::nullopt);
  EXPECT_TRUE(turns[0].kept);
  EXPECT_THAT(turns[1].now, IsEmpty());  // it would keep the GPU from the first one for ever
  EXPECT_EQ(turns[2].now.size(), 1U);    // it ends
}

TEST(PlanQueue, CountsAreAllAtOnce) {
  auto four = waits(1, "x", "1g.10gb");
  four.count = 4;
  const auto turns = plan(kTwoHalves, kTwoHeld, {four, waits(2, "y", "1g.10gb")});
  EXPECT_EQ(turns[0].at, kNow + 1h);
  four.count = 5;
  EXPECT_EQ(plan(kTwoHalves, kTwoHeld, {four})[0].at, kNow + 3h);
  const auto empty = plan(node({TestGpu(kBoard, 0)}), {}, {four});
  ASSERT_EQ(empty[0].now.size(), 5U);
  auto state = node({TestGpu(kBoard, 0)});
  for (const auto& choice : empty[0].now) state = lease::test::take(state, choice, "x");
  EXPECT_EQ(state.gpus[0].instances.size(), 5U);
}

TEST(PlanQueue, ExclusiveGpusAndWholeGpusCloseThemselves) {
  const auto state = node({TestGpu(kBoard, 0)});
  auto alone = waits(1, "x");
  alone.requirement.exclusive_gpu = true;
  const auto turns = plan(state, {}, {alone, waits(2, "y")});
  EXPECT_EQ(turns[0].at, kNow);
  EXPECT_EQ(turns[1].at, kNow + 1h);
  EXPECT_THAT(turns[1].now, IsEmpty());
}

TEST(PlanQueue, WhatCanNeverBeServedKeepsNothing) {
  auto lonely = waits(2, "y");
  lonely.requirement.same_gpu_as = "gone";
  const auto turns = plan(node({TestGpu(kBoard, 0)}), {}, {waits(1, "x", "9g.99gb"), lonely, waits(3, "z")});
  EXPECT_EQ(turns[0].at, std::nullopt);
  EXPECT_FALSE(turns[0].kept);
  EXPECT_EQ(turns[1].at, std::nullopt);
  EXPECT_EQ(turns[2].now.size(), 1U);
}

// A node worked for a while: random requests, leases that end when they expire or earlier, the queue planned at each
// event.
class Simulation {
 public:
  explicit Simulation(int gpus) {
    for (int g = 0; g < gpus; ++g) state_.gpus.push_back(TestGpu(kBoard, g));
    for (auto& gpu : state_.gpus)
      if (chance(20)) gpu.instances = TestGpu(kBoard, 9).with(k2g, 2, State::busy, "pid 7").get().instances;
  }

  void run(int events) {
    for (int i = 0; i < events; ++i) {
      if (chance(60)) ask();
      if (chance(60)) end_next();
      serve();
    }
    for (int i = 0; i < 500 && !waiting_.empty() && !held_.empty(); ++i) {
      end_next();
      serve();
    }
    // All that could ever be served has been.
    for (const auto& one : waiting_) RC_ASSERT(!promised_.contains(one.id));
  }

 private:
  void ask() {
    const char* names[] = {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", "1g.10gb+me"};
    ++last_id_;
    auto one =
        waits(last_id_, "user" + std::to_string(last_id_), names[draw(0, 7)], std::chrono::minutes(draw(1, 200)));
    one.requirement.exclusive_gpu = chance(10);
    if (chance(10)) one.count = draw(1, 4);
    waiting_.push_back(one);
  }

  // What expires next, or some lease's early end before that.
  void end_next() {
    if (held_.empty()) return;
    Time next = std::ranges::min_element(held_, {}, &Held::expires)->expires.value();
    for (const auto& one : waiting_)
      if (one.reserved) next = std::min(next, one.reserved->at);
    if (chance(40)) {
      now_ = std::min(now_ + std::chrono::minutes(draw(0, 30)), next);
      held_[static_cast<std::size_t>(draw(0, static_cast<int>(held_.size())))].expires = now_;
    } else {
      now_ = next;
    }
    for (const auto& held : held_) {
      if (held.expires.value() > now_) continue;
      auto& gpu = *std::ranges::find(state_.gpus, held.gpu, &layout::Gpu::uuid);
      for (auto& live : gpu.instances)
        if (live.placement.start == held.start) live.pins.clear();
    }
    std::erase_if(held_, [&](const Held& held) { return held.expires.value() <= now_; });
  }

  void serve() {
    Geometries geometries;
    const auto turns = plan_queue(state_, held_, waiting_, now_, geometries, {.reserving = 100});
    RC_ASSERT(turns.size() == waiting_.size());

    std::vector<Waiting> left;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      auto& one = waiting_[i];
      if (turns[i].at) {
        const auto [promise, is_first] = promised_.try_emplace(one.id, *turns[i].at);
        RC_ASSERT(*turns[i].at <= promise->second);

        promise->second = *turns[i].at;
      } else {
        RC_ASSERT(!promised_.contains(one.id));
      }
      one.reserved = turns[i].kept;
      if (turns[i].now.empty()) {
        RC_ASSERT((!turns[i].at || *turns[i].at > now_));
        left.push_back(one);
        continue;
      }
      RC_ASSERT(static_cast<int>(turns[i].now.size()) == one.count);

      for (const auto& choice : turns[i].now) start(one, choice);
    }
    waiting_ = std::move(left);
  }

  void start(const Waiting& one, const Choice& choice) {
    const auto here = [&](const Held& held) { return held.gpu == choice.gpu; };
    for (const auto& held : held_) RC_ASSERT((!here(held) || !held.alone || held.expires == now_ + *one.duration));
    std::vector<plan::Placed> pinned;
    for (const auto& gpu : state_.gpus)
      for (const auto& live : gpu.instances)
        if (gpu.uuid == choice.gpu && live.pinned()) pinned.push_back({live.profile, live.placement.start});
    state_ = lease::test::take(state_, choice, std::to_string(one.id));
    for (const auto& gpu : state_.gpus)
      for (const auto& place : pinned)
        RC_ASSERT((gpu.uuid != choice.gpu || std::ranges::count(places(gpu, true), place) == 1));
    held_.push_back({choice.gpu, choice.start, one.requirement.exclusive_gpu, now_ + *one.duration});
  }

  layout::NodeState state_;
  std::vector<Held> held_;
  std::vector<Waiting> waiting_;
  std::map<std::int64_t, Time> promised_;
  Time now_ = kNow;
  std::int64_t last_id_ = 0;
};

TEST(PlanQueue, NobodyIsServedLaterThanTheirEstimate) {
  EXPECT_TRUE(rc::check([] { Simulation(draw(1, 4)).run(40); }));
}

}  // namespace
}  // namespace partita::lease
