#include "plan/transition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include "plan/test_random.h"

namespace partita::plan {
namespace {

using layout::GpuInstance;
using layout::WantedInstance;
using ::testing::HasSubstr;

using Kind = Step::Kind;

// What of a GPU's state a plan is about.
using Instance = std::tuple<int, int, std::vector<std::pair<int, int>>>;  // start, profile, compute (start, profile)
std::vector<Instance> essence(std::span<const GpuInstance> instances) {
  std::vector<Instance> list;
  for (const auto& instance : instances) {
    std::vector<std::pair<int, int>> compute;
    for (const auto& ci : instance.compute) compute.emplace_back(ci.placement.start, ci.profile);
    std::ranges::sort(compute);
    list.emplace_back(instance.placement.start, instance.profile, compute);
  }
  std::ranges::sort(list);
  return list;
}

using Cost = std::tuple<int, int, int, int>;  // pinned hit, destroyed, compute destroyed, - openness

int compute_destroyed_between(const GpuInstance& live, const WantedInstance& wanted) {
  auto left = wanted.compute;
  int destroyed = 0;
  for (const auto& ci : live.compute) {
    const auto found = std::ranges::find(left, ci.profile);
    if (found == left.end()) {
      ++destroyed;
    } else {
      left.erase(found);
    }
  }
  return destroyed;
}

// The optimum by trying, for each wanted instance, every live instance of its profile and every new place. Compute
// instances of one slice only (or whole), where the number destroyed follows from the counts.
class BruteForce {
 public:
  BruteForce(const layout::Gpu& gpu, const Geometry& geometry, std::vector<WantedInstance> wanted, bool ignore_pins)
      : gpu_(gpu), geometry_(geometry), wanted_(std::move(wanted)), ignore_pins_(ignore_pins) {
    taken_.resize(gpu.instances.size());
  }
  std::optional<Cost> best() {
    descend(0, 0, 0);
    return best_;
  }

 private:
  void descend(std::size_t w, int pinned_changed, int compute_destroyed) {
    if (w == wanted_.size()) return arrive(pinned_changed, compute_destroyed);
    const auto& wanted = wanted_[w];
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      const auto& live = gpu_.instances[i];
      if (taken_[i] || live.profile != wanted.profile || (wanted.start && *wanted.start != live.placement.start))
        continue;
      const int gone = compute_destroyed_between(live, wanted);
      const bool changed = gone > 0 || live.compute.size() != wanted.compute.size();
      if (changed && live.pinned() && !ignore_pins_) continue;
      taken_[i] = true;
      now_.push_back({wanted.profile, live.placement.start});
      descend(w + 1, pinned_changed + (changed && live.pinned() ? 1 : 0), compute_destroyed + gone);
      now_.pop_back();
      taken_[i] = false;
    }
    for (const auto& place : geometry_.profiles()[static_cast<std::size_t>(wanted.profile)].placements) {
      if (wanted.start && *wanted.start != place.start) continue;
      now_.push_back({wanted.profile, place.start});
      if (valid(geometry_, now_)) descend(w + 1, pinned_changed, compute_destroyed);
      now_.pop_back();
    }
  }

  void arrive(int pinned_hit, int compute_destroyed) {
    if (!valid(geometry_, now_)) return;
    int destroyed = 0;
    for (std::size_t i = 0; i < gpu_.instances.size(); ++i) {
      if (taken_[i]) continue;
      if (gpu_.instances[i].pinned()) {
        if (!ignore_pins_) return;
        ++pinned_hit;
      }
      ++destroyed;
      compute_destroyed += static_cast<int>(gpu_.instances[i].compute.size());
    }
    const Cost cost{pinned_hit, destroyed, compute_destroyed, -open_placements(geometry_, now_)};
    if (!best_ || cost < *best_) best_ = cost;
  }

  const layout::Gpu& gpu_;
  const Geometry& geometry_;
  std::vector<WantedInstance> wanted_;
  bool ignore_pins_;
  std::vector<bool> taken_;
  std::vector<Placed> now_;
  std::optional<Cost> best_;
};

int pinned_hit(const layout::Gpu& gpu, const GpuPlan& plan) {
  int hit = 0;
  for (const auto& instance : gpu.instances) {
    if (!instance.pinned()) continue;
    hit += std::ranges::count(plan.kept, Placed{instance.profile, instance.placement.start}) == 1 ? 0 : 1;
  }
  return hit;
}

// All that must hold of any plan.
void check_plan(const layout::Gpu& gpu, const Geometry& geometry, std::span<const WantedInstance> wanted,
                const GpuPlan& plan) {
  const auto after = replay(gpu, geometry, plan.steps);
  RC_ASSERT(after.has_value());
  auto reached = gpu;
  reached.instances = *after;
  RC_ASSERT(test::places(reached) == plan.result);
  RC_ASSERT(valid(geometry, plan.result));
  std::vector<std::pair<int, std::vector<int>>> found, asked;
  for (const auto& instance : *after) {
    std::vector<int> compute;
    for (const auto& ci : instance.compute) compute.push_back(ci.profile);
    std::ranges::sort(compute);
    found.emplace_back(instance.profile, compute);
  }
  for (const auto& instance : wanted) {
    asked.emplace_back(instance.profile, instance.compute);
    if (instance.start) RC_ASSERT(std::ranges::count(plan.result, Placed{instance.profile, *instance.start}) == 1);
  }
  std::ranges::sort(found);
  std::ranges::sort(asked);
  RC_ASSERT(found == asked);
  const auto is = [](Kind kind) { return [kind](const Step& step) { return step.kind == kind; }; };
  RC_ASSERT(std::ranges::count_if(plan.steps, is(Kind::destroy_gpu_instance)) == plan.gpu_instances_destroyed);
  RC_ASSERT(std::ranges::count_if(plan.steps, is(Kind::create_gpu_instance)) == plan.gpu_instances_created);
  RC_ASSERT(std::ranges::count_if(plan.steps, is(Kind::destroy_compute)) == plan.compute_destroyed);
  RC_ASSERT(std::ranges::count_if(plan.steps, is(Kind::create_compute)) == plan.compute_created);
  // A failed apply runs the undo of what it did, from any step.
  for (std::size_t done = 0; done <= plan.steps.size(); ++done) {
    const auto prefix = std::span(plan.steps).first(done);
    auto back = std::vector<Step>(prefix.begin(), prefix.end());
    std::ranges::copy(undo(prefix), std::back_inserter(back));
    const auto again = replay(gpu, geometry, back);
    RC_ASSERT(again.has_value());
    RC_ASSERT(essence(*again) == essence(gpu.instances));
  }
}

std::vector<WantedInstance> random_target(const catalog::Board& board, const Geometry& geometry, const layout::Gpu& gpu,
                                          bool cuts) {
  std::vector<WantedInstance> wanted;
  for (const auto& instance : gpu.instances) {  // often what is there, so that pinned ones can stay
    if (!test::chance(instance.pinned() ? 90 : 40)) continue;
    wanted.push_back(test::want(board, instance.profile));
    wanted.back().compute.clear();
    for (const auto& ci : instance.compute) wanted.back().compute.push_back(ci.profile);
    if (test::chance(20)) wanted.back().start = instance.placement.start;
  }
  for (const auto& at : test::random_state(geometry, test::draw(0, 4))) {
    wanted.push_back(test::want(board, at.profile));
    if (test::chance(20)) wanted.back().start = at.start;
    const int slices = board.profiles[static_cast<std::size_t>(at.profile)].compute_slices;
    if (cuts && slices > 1 && test::chance(50))
      wanted.back().compute = std::vector<int>(static_cast<std::size_t>(test::draw(0, slices + 1)), 0);
  }
  if (wanted.size() > 5) wanted.resize(5);
  return wanted;
}

void check_against_brute_force(const catalog::Board& board, bool ignore_pins) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check("transition reaches the least disturbance, then the most open placing", [&] {
    const bool cuts = test::chance(50);
    const auto gpu = test::random_gpu(board, geometry, test::draw(0, 7), 30, cuts);
    const auto wanted = random_target(board, geometry, gpu, cuts);
    const auto best = BruteForce(gpu, geometry, wanted, ignore_pins).best();
    const auto plan = transition(gpu, geometry, wanted, ignore_pins);
    RC_ASSERT(plan.has_value() == best.has_value());
    RC_CLASSIFY(plan.has_value(), "feasible");
    if (!plan) return;
    check_plan(gpu, geometry, wanted, *plan);
    RC_ASSERT((Cost{pinned_hit(gpu, *plan), plan->gpu_instances_destroyed, plan->compute_destroyed,
                    -open_placements(geometry, plan->result)}) == *best);
    if (!ignore_pins) RC_ASSERT(pinned_hit(gpu, *plan) == 0);
  }));
}

TEST(Transition, IsOptimalOnSevenSlices) { check_against_brute_force(test::a100(), false); }
TEST(Transition, IsOptimalOnA30) { check_against_brute_force(test::a30(), false); }
TEST(Transition, IsOptimalOnRtxPro) { check_against_brute_force(test::rtx_pro_6000(), false); }
TEST(Transition, IsOptimalWhenForcedOnSevenSlices) { check_against_brute_force(test::a100(), true); }
TEST(Transition, IsOptimalWhenForcedOnRtxPro) { check_against_brute_force(test::rtx_pro_6000(), true); }

TEST(Transition, WhatIsThereAlreadyNeedsNoStep) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4).with(k1g, 0, State::busy).with(k2g, 2);
  std::vector<int> counts(7);
  counts[k3g] = counts[k1g] = counts[k2g] = 1;
  const auto plan = transition(gpu, geometry, want_counts(board, counts));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->changes());
  EXPECT_EQ(plan->kept.size(), 3U);
}

TEST(Transition, Case7SevenOnesBesideABusyOne) {
  using namespace test;
  const auto board = a100("a100-sxm4-40gb");
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4).with(k2g, 0).with(k1g, 2, State::busy).with(k1g, 3);
  std::vector<int> counts(7);
  counts[k1g] = 7;
  const auto plan = transition(gpu, geometry, want_counts(board, counts));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->kept, (std::vector<Placed>{{k1g, 2}, {k1g, 3}}));
  EXPECT_EQ(plan->gpu_instances_destroyed, 2);
  EXPECT_EQ(plan->gpu_instances_created, 5);
  std::vector<int> created;
  for (const auto& step : plan->steps)
    if (step.kind == Kind::create_gpu_instance) created.push_back(step.start);
  EXPECT_EQ(created, (std::vector<int>{0, 1, 4, 5, 6}));
}

TEST(Transition, Case9TheBusyOneIsNotTouched) {
  using namespace test;
  const auto board = a30();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(kA30_1g, 0, State::busy);
  const auto plan = transition(gpu, geometry, want_counts(board, {2, 0, 0, 0, 0}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->kept, (std::vector<Placed>{{kA30_1g, 0}}));
  EXPECT_EQ(plan->gpu_instances_destroyed, 0);
  EXPECT_EQ(plan->gpu_instances_created, 1);
}

TEST(Transition, Case27OneTwoIntoTwoOnesBesideABusyFour) {
  using namespace test;
  const auto board = a100("a100-sxm4-40gb");
  const Geometry geometry(board);
  const auto gpu = TestGpu(board, 3).with(k4g, 0, State::busy).with(k2g, 4);
  std::vector<int> counts(7);
  counts[k4g] = 1, counts[k1g] = 2;
  auto wanted = want_counts(board, counts);
  wanted[0].start = 4;
  wanted[1].start = 5;
  const auto plan = transition(gpu, geometry, wanted);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->gpu_instances_destroyed, 1);
  EXPECT_EQ(plan->result, (std::vector<Placed>{{k4g, 0}, {k1g, 4}, {k1g, 5}}));
  // Without fixed starts: as few destroyed. The free places 6 and one of 4-5 leave more open, so Partita may differ.
  for (auto& w : wanted) w.start.reset();
  const auto free = transition(gpu, geometry, wanted);
  ASSERT_TRUE(free);
  EXPECT_EQ(free->gpu_instances_destroyed, 1);
  EXPECT_EQ(free->kept, (std::vector<Placed>{{k4g, 0}}));
}

TEST(Transition, ChangedComputeInstancesLeaveTheGpuInstance) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4);
  std::vector<WantedInstance> wanted{want(board, k3g)};
  wanted[0].compute = {0, 0, 0};
  const auto plan = transition(gpu, geometry, wanted);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->gpu_instances_destroyed, 0);
  ASSERT_EQ(plan->steps.size(), 4U);
  EXPECT_EQ(plan->steps[0], (Step{Kind::destroy_compute, k3g, 4, 2, 0}));
  EXPECT_EQ(plan->steps[1], (Step{Kind::create_compute, k3g, 4, 0, 0}));
  EXPECT_EQ(plan->steps[3], (Step{Kind::create_compute, k3g, 4, 0, 2}));
  EXPECT_TRUE(plan->kept.empty()) << "kept means untouched";
}

TEST(Transition, FixedComputeStartsAreRestoredExactly) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4).cut(4, {{0, 0}});
  std::vector<WantedInstance> wanted{want(board, k3g, 4)};
  wanted[0].compute = {0};
  wanted[0].compute_starts = {2};
  const auto plan = transition(gpu, geometry, wanted);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps,
            (std::vector<Step>{{Kind::destroy_compute, k3g, 4, 0, 0}, {Kind::create_compute, k3g, 4, 0, 2}}));
}

TEST(Transition, ABareInstanceGetsNoComputeStep) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  std::vector<WantedInstance> wanted{want(board, k2g)};
  wanted[0].compute.clear();
  const auto plan = transition(TestGpu(board), geometry, wanted);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->steps.size(), 1U);
  EXPECT_EQ(plan->compute_created, 0);
}

TEST(Transition, APinnedInstanceOutsideTheTargetIsBusyAndNamed) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board, 3).with(k4g, 0, State::busy, "pid 4711 (python)").with(k2g, 4);
  const auto plan = transition(gpu, geometry, want_counts(board, {1, 0, 0, 0, 0, 0, 0}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::busy);
  EXPECT_THAT(plan.error().message, HasSubstr("GPU 3"));
  EXPECT_THAT(plan.error().message, HasSubstr("4g.40gb@0 (pid 4711 (python)); add it to the target, or wait until"));
  EXPECT_TRUE(plan.error().details.empty());  // the message says it all
  const auto forced = transition(gpu, geometry, want_counts(board, {1, 0, 0, 0, 0, 0, 0}), true);
  ASSERT_TRUE(forced);
  EXPECT_EQ(forced->gpu_instances_destroyed, 2);
}

TEST(Transition, WhatIsForeignIsTakenOverNotWaitedFor) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  auto gpu = TestGpu(board, 3).with(k4g, 0);
  gpu.edit().instances[0].pins.push_back({layout::Pin::Reason::foreign, "not made by partita"});
  const auto wanted = want_counts(board, {1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(transition(gpu, geometry, wanted).error().message,
            "GPU 3: the target would touch 4g.40gb@0 (not made by partita); add it to the target, or take over what "
            "Partita did not make with --adopt");
  gpu.edit().instances[0].pins.push_back({layout::Pin::Reason::busy, "pid 7"});
  EXPECT_THAT(transition(gpu, geometry, wanted).error().message,
              HasSubstr("or wait until its holder is done and take over what Partita did not make with --adopt"));
}

TEST(Transition, ComputeInstancesOfAPinnedInstanceStay) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4, State::leased, "alice");
  std::vector<WantedInstance> wanted{want(board, k3g)};
  wanted[0].compute = {0};
  const auto plan = transition(gpu, geometry, wanted);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::busy);
  ASSERT_EQ(plan.error().details.size(), 1U);
  EXPECT_THAT(plan.error().details[0], HasSubstr("compute instances"));
  EXPECT_TRUE(transition(gpu, geometry, wanted, true));
}

TEST(Transition, BadTargetsAreToldApart) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const layout::Gpu gpu = TestGpu(board);
  const auto code = [&](std::vector<WantedInstance> wanted) {
    const auto plan = transition(gpu, geometry, wanted);
    return plan ? std::string("planned") : std::string(name(plan.error().code)) + ": " + plan.error().message;
  };
  EXPECT_THAT(code({want(board, k3g, 1)}), HasSubstr("invalid: GPU 0: 3g.40gb cannot start at 1"));
  EXPECT_THAT(code({want(board, k3g, 4), want(board, k1g, 5)}), HasSubstr("invalid: GPU 0: 1g.10gb@5 overlaps"));
  EXPECT_THAT(code({WantedInstance{.profile = 70, .start = {}, .compute = {}, .compute_starts = {}}}),
              HasSubstr("invalid"));
  EXPECT_THAT(code(want_counts(board, {0, 0, 0, 0, 3, 0, 0})), HasSubstr("impossible"));
  auto stuffed = want(board, k3g);
  stuffed.compute = {1, 1};
  EXPECT_THAT(code({stuffed}), HasSubstr("impossible: GPU 0: one 3g.40gb cannot hold"));
  layout::Gpu without;
  const auto plan = transition(without, geometry, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::invalid);
}

TEST(Replay, RefusesStepsThatAreNotValid) {
  using namespace test;
  const auto board = a100();
  const Geometry geometry(board);
  const auto gpu = TestGpu(board).with(k3g, 4);
  const auto refused = [&](Step step) { return !replay(gpu, geometry, std::vector{step}); };
  EXPECT_TRUE(refused({Kind::destroy_gpu_instance, k3g, 4, 0, 0})) << "still has a compute instance";
  EXPECT_TRUE(refused({Kind::destroy_gpu_instance, k3g, 0, 0, 0})) << "not there";
  EXPECT_TRUE(refused({Kind::create_gpu_instance, k1g, 5, 0, 0})) << "overlaps";
  EXPECT_TRUE(refused({Kind::create_gpu_instance, k2g, 1, 0, 0})) << "no such start";
  EXPECT_TRUE(refused({Kind::create_compute, k3g, 4, 0, 1})) << "no room in the instance";
  EXPECT_TRUE(refused({Kind::destroy_compute, k3g, 4, 0, 0})) << "no such compute instance";
  EXPECT_FALSE(refused({Kind::create_gpu_instance, k3g, 0, 0, 0}));
}

}  // namespace
}  // namespace partita::plan
