#include "lease/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lease/test_lease.h"

namespace partita::lease {
namespace {

using namespace std::chrono_literals;
using namespace plan::test;
using layout::Gpu;
using lease::test::node;
using lease::test::profile;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const catalog::Board kBoard = lease::test::a100();

Choice chosen(const layout::NodeState& state, const api::Requirement& requirement,
              const Constraints& constraints = {}) {
  auto choice = choose(state, requirement, constraints);
  EXPECT_TRUE(choice) << choice.error().message;
  return choice.value_or(Choice{});
}

Error refused(const layout::NodeState& state, const api::Requirement& requirement,
              const Constraints& constraints = {}) {
  const auto choice = choose(state, requirement, constraints);
  EXPECT_FALSE(choice);
  return choice ? Error{} : choice.error();
}

TEST(Choose, IdleInstanceServesAsItIs) {
  const auto state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1).with(k3g, 0).with(k3g, 4)});
  const auto choice = chosen(state, profile("3g.40gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_FALSE(choice.plan.changes());
  EXPECT_EQ(choice.plan.kept.size(), 2U);
}

TEST(Choose, IdleOneIsTakenWhereMostIsPinnedAndBesideIt) {
  const auto state = node({TestGpu(kBoard, 0).with(k1g, 0).with(k1g, 1).with(k1g, 2),
                           TestGpu(kBoard, 1).with(k1g, 0, State::leased, "a").with(k1g, 1).with(k1g, 4).with(k1g, 6)});
  const auto choice = chosen(state, profile("1g.10gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_EQ(choice.start, 1);
}

// An idle one on a free GPU costs no cut, but that GPU.
TEST(Choose, EmptyRoomOfAGpuInUseComesBeforeAnIdleOneOnAFreeGpu) {
  auto state =
      node({TestGpu(kBoard, 0).with(k1g, 0).with(k1g, 3), TestGpu(kBoard, 1).with(k3g, 0, State::leased, "a")});
  const auto choice = chosen(state, profile("1g.10gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_TRUE(choice.plan.changes());
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 0);
  // Not at the price of what idles there, and not where all is free.
  state = node({TestGpu(kBoard, 0).with(k1g, 0), TestGpu(kBoard, 1).with(k3g, 0, State::leased, "a").with(k3g, 4)});
  EXPECT_FALSE(chosen(state, profile("1g.10gb")).plan.changes());
  state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1).with(k1g, 6)});
  EXPECT_FALSE(chosen(state, profile("1g.10gb")).plan.changes());
}

TEST(Choose, AnIdleOneOnAFreeGpuServesWhereCutsComeLast) {
  const auto state =
      node({TestGpu(kBoard, 0).with(k1g, 0).with(k1g, 3), TestGpu(kBoard, 1).with(k3g, 0, State::leased, "a")});
  Constraints constraints;
  constraints.cuts_last = true;
  const auto choice = chosen(state, profile("1g.10gb"), constraints);
  EXPECT_EQ(choice.gpu, "GPU-0");
  EXPECT_FALSE(choice.plan.changes());
  EXPECT_EQ(chosen(state, profile("2g.20gb"), constraints).gpu, "GPU-1");
}

TEST(Choose, WhatIdlesHereAndThereDoesNotSpreadLeases) {
  std::vector<Gpu> gpus;
  for (int g = 0; g < 5; ++g) gpus.push_back(TestGpu(kBoard, g).with(k1g, g).with(k1g, 6));
  auto state = node(std::move(gpus));
  std::set<std::string> used;
  for (int n = 0; n < 9; ++n) {
    const auto choice = chosen(state, profile("1g.10gb"));
    used.insert(choice.gpu);
    state = lease::test::take(std::move(state), choice, std::to_string(n));
  }
  EXPECT_EQ(used.size(), 2U);
}

TEST(Choose, CutsWhereTheFewestPlacementsClose) {
  const auto state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1).with(k3g, 0, State::leased, "a")});
  const auto choice = chosen(state, profile("1g.10gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");  // GPU 0 stays whole
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 0);
  EXPECT_EQ(choice.plan.gpu_instances_created, 1);
  EXPECT_EQ(choice.plan.compute_created, 1);
}

TEST(Choose, CutsWhereSomethingIsPinnedBeforeAnEmptyGpu) {
  // A 1g beside the 3g at 4 closes more places than one at the end of an empty GPU would.
  auto state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1).with(k3g, 4, State::leased, "a"), TestGpu(kBoard, 2)});
  const auto choice = chosen(state, profile("1g.10gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 0);
  // Room that only an idle instance keeps is no room: nothing is destroyed while an empty GPU has it.
  state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1).with(k3g, 4, State::leased, "a").with(k4g, 0)});
  EXPECT_EQ(chosen(state, profile("1g.10gb")).gpu, "GPU-0");
  // What idles can go: its GPU counts as empty.
  state = node({TestGpu(kBoard, 0).with(k3g, 4), TestGpu(kBoard, 1).with(k3g, 4, State::busy)});
  EXPECT_EQ(chosen(state, profile("1g.10gb")).gpu, "GPU-1");
}

TEST(Choose, SequencesFillOneGpuAfterTheOther) {
  const struct {
    std::vector<std::string> pattern;
    int of_one_gpu;
  } sequences[] = {
      {{"1g.10gb"}, 7}, {{"2g.20gb"}, 3}, {{"3g.40gb"}, 2}, {{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}, 4}};
  for (const auto& [pattern, of_one_gpu] : sequences) {
    std::vector<Gpu> gpus;
    for (int g = 0; g < 8; ++g) gpus.push_back(TestGpu(kBoard, g));
    auto state = node(std::move(gpus));
    for (int n = 0; n < 8 * of_one_gpu; ++n) {
      const auto& wanted = pattern[static_cast<std::size_t>(n) % pattern.size()];
      const auto choice = chosen(state, profile(wanted));
      EXPECT_EQ(choice.gpu, "GPU-" + std::to_string(n / of_one_gpu)) << n << ": " << wanted;
      state = lease::test::take(std::move(state), choice, std::to_string(n));
    }
  }
}

TEST(Choose, RecutsTheFewestIdleInstances) {
  const auto state =
      node({TestGpu(kBoard, 0).with(k1g, 0).with(k1g, 1).with(k1g, 2).with(k1g, 3).with(k3g, 4, State::busy),
            TestGpu(kBoard, 1).with(k3g, 0, State::leased, "a").with(k2g, 4).with(k1g, 6, State::busy)});
  const auto choice = chosen(state, profile("1g.20gb"));
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_EQ(choice.start, 4);
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 1);
}

TEST(Choose, ComputeInstancesAreRecutWithinTheirGpuInstance) {
  const auto state = node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "a").with(k3g, 4)});
  auto wanted = profile("3g.40gb");
  wanted.compute = {"2c", "1c"};
  const auto choice = chosen(state, wanted);
  EXPECT_EQ(choice.start, 4);
  EXPECT_EQ(choice.compute, (std::vector<int>{0, 1}));
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 0);
  EXPECT_EQ(choice.plan.compute_destroyed, 1);
  EXPECT_EQ(choice.plan.compute_created, 2);
  const auto one = chosen(state, profile("1c.3g.40gb"));
  EXPECT_EQ(one.compute, (std::vector<int>{0}));
}

TEST(Choose, BareInstance) {
  auto wanted = profile("2g.20gb");
  wanted.bare = true;
  const auto choice = chosen(node({TestGpu(kBoard, 0).with(k2g, 0).cut(0, {})}), wanted);
  EXPECT_FALSE(choice.plan.changes());
  EXPECT_THAT(choice.compute, IsEmpty());
  const auto cut = chosen(node({TestGpu(kBoard, 0)}), wanted);
  EXPECT_EQ(cut.plan.gpu_instances_created, 1);
  EXPECT_EQ(cut.plan.compute_created, 0);
}

TEST(Choose, ExactGpuAndPlacement) {
  const auto state = node({TestGpu(kBoard, 0).with(k1g, 3), TestGpu(kBoard, 1)});
  auto wanted = profile("1g.10gb");
  wanted.gpu = "1";
  wanted.start = 5;
  const auto choice = chosen(state, wanted);
  EXPECT_EQ(choice.gpu, "GPU-1");
  EXPECT_EQ(choice.start, 5);
  wanted.gpu = "GPU-0";
  wanted.start = 3;
  EXPECT_FALSE(chosen(state, wanted).plan.changes());
  wanted.start = 7;
  EXPECT_EQ(refused(state, wanted).message,
            "no 1g.10gb can be at 7 on a100-sxm4-80gb: expected one of 0, 1, 2, 3, 4, 5, 6");
  wanted.gpu = "7";
  const auto error = refused(state, wanted);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.details, ElementsAre(HasSubstr("GPU 0: GPU-0"), HasSubstr("GPU 1: GPU-1")));
}

TEST(Choose, SizeTakesTheSmallestThatHasIt) {
  const auto state = node({TestGpu(kBoard, 0), TestGpu(lease::test::a30(), 1)});
  api::Requirement wanted;
  wanted.memory = gib(5);
  EXPECT_EQ(chosen(state, wanted).gpu, "GPU-1");  // 1g.6gb
  wanted.memory = gib(7);
  EXPECT_EQ(chosen(state, wanted).profile, k1g);
  wanted.memory = gib(15);
  EXPECT_EQ(chosen(state, wanted).profile, k1gd);
  wanted.sms = 20;
  EXPECT_EQ(chosen(state, wanted).profile, k2g);
  wanted.sms = 99;
  const auto error = refused(state, wanted);
  EXPECT_EQ(error.code, ErrorCode::impossible);
  EXPECT_EQ(error.message, "no partition of the GPUs asked for has 15.00 GiB of memory and 99 SMs");
  EXPECT_THAT(error.details, Contains(HasSubstr("a100-sxm4-80gb: the largest is 7g.80gb with 80.00 GiB, 98 SMs")));
}

TEST(Choose, SizeTakesALargerOneOnlyWhenTheSmallestCannotBeCut) {
  api::Requirement wanted;
  wanted.memory = gib(10);
  auto gpu = TestGpu(kBoard, 0).with(k3g, 0, State::busy).with(k2g, 4);
  EXPECT_EQ(chosen(node({gpu}), wanted).profile, k1g);  // at 6
  gpu.with(k1g, 6, State::leased, "a");
  const auto recut = chosen(node({gpu}), wanted);
  EXPECT_EQ(recut.profile, k1g);  // the idle 2g is recut
  EXPECT_EQ(recut.plan.gpu_instances_destroyed, 1);
  // No 1g.6gb can be had on the A30, and an A100 has no smaller one than 1g.10gb.
  wanted.memory = gib(5);
  const auto a30 = TestGpu(lease::test::a30(), 1).with(kA30_4g, 0, State::busy);
  EXPECT_EQ(chosen(node({gpu, a30}), wanted).profile, k1g);
}

TEST(Choose, MixedBoardsKeepTheirOwnSpelling) {
  auto drifted = kBoard;
  drifted.profiles[k3g].name = "3g.39gb";
  for (auto& compute : drifted.profiles[k3g].compute)
    if (compute.is_default) compute.name = "3g.39gb";
  const auto choice = chosen(node({TestGpu(drifted, 0)}), profile("3g.40gb"));
  EXPECT_THAT(choice.warnings, ElementsAre(HasSubstr("3g.40gb is called 3g.39gb on this ")));
  EXPECT_EQ(chosen(node({TestGpu(drifted, 0), TestGpu(kBoard, 1)}), profile("3g.40gb")).gpu, "GPU-1");
  auto on_board = profile("1g.6gb");
  on_board.board = "A30-24GB";
  EXPECT_EQ(chosen(node({TestGpu(kBoard, 0), TestGpu(lease::test::a30(), 1)}), on_board).gpu, "GPU-1");
  on_board.board = "a30";
  EXPECT_THAT(refused(node({TestGpu(kBoard, 0)}), on_board).message,
              HasSubstr("no \"a30\" on this node; the node has"));
}

Gpu off(int index, std::vector<layout::Process> processes = {}) {
  Gpu gpu = TestGpu(kBoard, index);
  gpu.mode = layout::MigMode{false, false};
  gpu.processes = std::move(processes);
  return gpu;
}

TEST(Choose, WholeGpu) {
  api::Requirement wanted;
  wanted.whole_gpu = true;
  const auto state = node({TestGpu(kBoard, 0), off(1, {{4711, "python", {}, {}, {}}}), off(2)});
  const auto choice = chosen(state, wanted);
  EXPECT_EQ(choice.gpu, "GPU-2");
  EXPECT_TRUE(choice.whole_gpu);
  Constraints taken;
  taken.closed_gpus = taken.occupied_gpus = {"GPU-2"};
  taken.occupants = {{"alice", "GPU-2", std::nullopt, Time{} + 1h}};
  const auto error = refused(state, wanted, taken);
  EXPECT_EQ(error.code, ErrorCode::no_space);
  EXPECT_EQ(error.message, "a whole GPU does not fit on this node now; turning off MIG mode of GPU 0 makes it fit");
  EXPECT_THAT(error.details, ElementsAre("GPU 0: MIG mode is on", "GPU 1: in the way pid 4711 (python)",
                                         "GPU 2: lease alice has it for itself, until 1970-01-01 01:00:00 UTC"));
}

TEST(Choose, ExclusiveAndClosedGpus) {
  const auto state = node({TestGpu(kBoard, 0).with(k1g, 0, State::leased, "a"), TestGpu(kBoard, 1)});
  auto wanted = profile("1g.10gb");
  wanted.exclusive_gpu = true;
  Constraints constraints;
  constraints.occupied_gpus = {"GPU-0"};
  EXPECT_EQ(chosen(state, wanted, constraints).gpu, "GPU-1");
  constraints.closed_gpus = constraints.occupied_gpus = {"GPU-1"};
  constraints.occupants = {{"a", "GPU-0", 0, {}}, {"b", "GPU-1", 0, {}}};
  EXPECT_EQ(chosen(state, profile("1g.10gb"), constraints).gpu, "GPU-0");
  const auto error = refused(state, wanted, constraints);
  EXPECT_EQ(
      error.message,
      "1g.10gb on a GPU for itself does not fit on this node now; releasing lease a (1g.10gb@0 of GPU 0, until it is "
      "released) makes it fit");
  EXPECT_THAT(error.details, Contains("GPU 1: lease b has it for itself, until it is released"));
}

TEST(Choose, SameGpu) {
  const auto state = node({TestGpu(kBoard, 0), TestGpu(kBoard, 1)});
  auto wanted = profile("1g.10gb");
  wanted.same_gpu_as = "a";
  Constraints constraints;
  constraints.same_gpu = "GPU-1";
  EXPECT_EQ(chosen(state, wanted, constraints).gpu, "GPU-1");
}

TEST(Choose, RefusalNamesTheCheapestWay) {
  Constraints constraints;
  constraints.occupants = {{"long", "GPU-0", 0, Time{} + 48h}, {"short", "GPU-0", 4, Time{} + 1h}};
  const auto state = node({TestGpu(kBoard, 0).with(k3g, 0, State::leased, "long").with(k3g, 4, State::leased, "short"),
                           TestGpu(kBoard, 1).with(k7g, 0, State::busy, "pid 4711 (python)")});
  const auto error = refused(state, profile("3g.40gb"), constraints);
  EXPECT_EQ(error.code, ErrorCode::no_space);
  EXPECT_EQ(
      error.message,
      "3g.40gb does not fit on this node now; releasing lease short (3g.40gb@4 of GPU 0, until 1970-01-01 01:00:00 "
      "UTC) makes it fit");
  EXPECT_THAT(error.details,
              ElementsAre("GPU 0: in the way 3g.40gb@0 (lease long, until 1970-01-03 00:00:00 UTC), 3g.40gb@4 (lease "
                          "short, until 1970-01-01 01:00:00 UTC)",
                          "GPU 1: in the way 7g.80gb@0 (pid 4711 (python))"));
  const auto with_off = node({state.gpus[0], off(2)});
  EXPECT_THAT(refused(with_off, profile("3g.40gb"), constraints).message,
              HasSubstr("turning on MIG mode of GPU 2 makes it fit"));
}

TEST(Choose, GpusWithTheSameHindranceAreOneLineAndTheModeIsToldHowToTurnOn) {
  const auto error = refused(node({off(0), off(1), off(2)}), profile("3g.40gb"));
  EXPECT_THAT(error.message, HasSubstr("turning on MIG mode of GPU 0 makes it fit"));
  EXPECT_THAT(error.details, ElementsAre("GPUs 0-2: MIG mode is off", HasSubstr("partita apply -f FILE")));
}

TEST(Choose, RulesOfCountsAreObeyedAndExplained) {
  const auto idle = node({TestGpu(kBoard, 0).with(k1g_me, 0)});
  auto wanted = profile("1g.10gb+me");
  wanted.gpu = "0";
  wanted.start = 3;
  const auto choice = chosen(idle, wanted);
  EXPECT_EQ(choice.plan.gpu_instances_destroyed, 1);  // there can be only one
  const auto leased = node({TestGpu(kBoard, 0).with(k1g_me, 0, State::leased, "a")});
  EXPECT_THAT(refused(leased, profile("1g.10gb+me")).message, HasSubstr("releasing lease a (1g.10gb+me@0 of GPU 0"));
}

TEST(Choose, LostGpusTakeNoPart) {
  Gpu lost = TestGpu(kBoard, 0);
  lost.fault = "lost";
  const auto error = refused(node({lost}), profile("1g.10gb"));
  EXPECT_EQ(error.code, ErrorCode::no_space);
  EXPECT_THAT(error.details, ElementsAre("GPU 0: lost"));
}

TEST(Choose, UnknownProfileIsNotFound) {
  EXPECT_EQ(refused(node({TestGpu(kBoard, 0)}), profile("5g.50gb")).code, ErrorCode::not_found);
  EXPECT_EQ(refused(node({}), profile("5g.50gb")).message, "this node has no GPU");
}

TEST(SizeOf, CountsTheSliceOfTheLeastBoard) {
  const auto state = node({TestGpu(kBoard, 0), TestGpu(lease::test::a30(), 1)});
  api::Requirement wanted;
  wanted.memory = gib(5);
  EXPECT_EQ(size_of(state, wanted)->memory, gib(6));
  EXPECT_EQ(size_of(state, profile("1c.3g.40gb"))->compute_slices, 3);
  EXPECT_EQ(size_of(state, chosen(state, profile("3g.40gb"))).memory, gib(40));
  EXPECT_EQ(size_of(state, profile("9g.90gb")).error().code, ErrorCode::not_found);
}

TEST(Requirement, ContradictionsAreInvalid) {
  const auto message = [](auto edit) {
    api::Requirement requirement;
    edit(requirement);
    const auto result = check(requirement);
    EXPECT_FALSE(result);
    if (result) return std::string();
    EXPECT_EQ(result.error().code, ErrorCode::invalid);
    return result.error().message;
  };
  EXPECT_THAT(message([](auto&) {}), HasSubstr("how large the partition must be is not said"));
  EXPECT_THAT(message([](auto& r) { r.profile = "1g.10gb", r.sms = 3; }), HasSubstr("in two ways"));
  EXPECT_THAT(message([](auto& r) { r.profile = "big"; }), HasSubstr("\"big\" is no profile name"));
  EXPECT_THAT(message([](auto& r) { r.sms = 0; }), HasSubstr("at least 1 SM, found 0"));
  EXPECT_THAT(message([](auto& r) { r.memory = Bytes{}; }), HasSubstr("above 0"));
  EXPECT_THAT(message([](auto& r) { r.whole_gpu = true, r.bare = true; }), HasSubstr("cannot both be asked"));
  EXPECT_THAT(message([](auto& r) { r.profile = "1c.3g.40gb", r.bare = true; }), HasSubstr("a bare one has none"));
  EXPECT_THAT(message([](auto& r) { r.profile = "3g.40gb", r.bare = true, r.compute = {"1c"}; }), HasSubstr("bare"));
  EXPECT_THAT(message([](auto& r) { r.profile = "3g.40gb", r.compute = {"one"}; }), HasSubstr("expected one like 1c"));
  EXPECT_THAT(message([](auto& r) { r.profile = "3g.40gb", r.compute = std::vector<std::string>(9, "1c"); }),
              HasSubstr("at most 8"));
  EXPECT_THAT(message([](auto& r) { r.profile = "3g.40gb", r.start = 0; }), HasSubstr("name the GPU, too"));
  EXPECT_THAT(message([](auto& r) { r.profile = "3g.40gb", r.exclusive_gpu = true, r.same_gpu_as = "a"; }),
              HasSubstr("one of them would not be alone"));
}

}  // namespace
}  // namespace partita::lease
