// What explanations tell is true, at least, and not more: amounts that fit, and nothing that the clock cut short.
#include "fleet/exact/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "fleet/exact/test_instances.h"

namespace partita::fleet {
namespace {

// Services whose instances take more the larger they are, each in its own way: nothing comes out whole.
Demand services(const Fleet& fleet, unsigned seed, std::size_t count, double times) {
  std::mt19937 random(seed);
  Demand out;
  for (std::size_t s = 0; s < count; ++s) {
    Want want{"service-" + std::to_string(s), times * (300 + static_cast<double>(random() % 700)), {}};
    for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
      for (const int p : test::plain_profiles(*fleet.kinds[k].board)) {
        const double slices = fleet.kinds[k].board->profiles[static_cast<std::size_t>(p)].compute_slices;
        want.servers.push_back(
            {static_cast<int>(k), p, 40 * std::pow(slices, 0.8) + static_cast<double>(random() % 30)});
      }
    out.wants.push_back(std::move(want));
  }
  return out;
}

// No plan is proven to cost more than what is said to be enough.
void expect_fits(const Fleet& fleet, Demand demand, const Margin& margin, double amount, double cost) {
  if (amount <= 0) return;
  demand.wants[static_cast<std::size_t>(margin.want)].amount = amount * (1 - 1e-9);
  SolveOptions options;
  options.levels = 1;
  options.limits.nodes = 50;
  const auto plan = solve(fleet, demand, options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_LE(plan->levels[0].bound, cost + 1e-6) << margin.want << ": " << amount;
}

TEST(ExplainServices, WhatFitsFitsAndGrowsWithTheCost) {
  for (const double times : {1.0, 40.0}) {
    const Fleet fleet{
        {{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt, 1}, {"a30", test::board("a30-24gb"), {}, 3, 0.5}}};
    const auto demand = services(fleet, 3, 5, times);
    SolveOptions options;
    options.limits.nodes = 200;
    const auto plan = solve(fleet, demand, options).value();
    const double cost = plan.levels[0].value;
    const auto told = explain(fleet, demand, plan, options).value();
    ASSERT_EQ(told.margins.size(), 5U);
    EXPECT_EQ(told.gpu_price, 0.5);
    EXPECT_FALSE(told.stopped);
    for (const auto& margin : told.margins) {
      EXPECT_GE(margin.here, demand.wants[static_cast<std::size_t>(margin.want)].amount);
      EXPECT_GE(margin.roomier, margin.here);
      EXPECT_LE(margin.cheaper.value_or(0), margin.roomier);
      expect_fits(fleet, demand, margin, margin.here, cost);
      expect_fits(fleet, demand, margin, margin.roomier, cost + 0.5);
      expect_fits(fleet, demand, margin, margin.cheaper.value_or(0), cost - 0.5);
    }
  }
}

// Many GPUs: one less leaves most of any service, which a short search alone does not find.
TEST(ExplainServices, OneGpuLessOfManyLeavesMostOfEach) {
  const Fleet fleet{{{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt, 1}}};
  const auto demand = services(fleet, 7, 8, 1000);
  const auto plan = solve(fleet, demand).value();
  const auto told = explain(fleet, demand, plan, {}).value();
  for (const auto& margin : told.margins) {
    ASSERT_TRUE(margin.cheaper) << margin.want;
    EXPECT_GT(*margin.cheaper, 0.9 * demand.wants[static_cast<std::size_t>(margin.want)].amount);
  }
}

TEST(ExplainCounts, AFullFleetIsExplainedToo) {
  const Fleet fleet{{{"a100", test::board("a100-sxm4-80gb"), {}, 2, 1}}};
  const auto whole = test::plain_profiles(*fleet.kinds[0].board).back();
  const Demand demand{{{"whole", 2, {{0, whole, 1}}}}, Goal::cost};
  const auto plan = solve(fleet, demand).value();
  const auto told = explain(fleet, demand, plan, {}).value();
  ASSERT_EQ(told.margins.size(), 1U);
  EXPECT_EQ(told.margins[0].cheaper, 1);
  EXPECT_EQ(told.margins[0].here, 2);
  EXPECT_EQ(told.margins[0].roomier, 2);
  ASSERT_EQ(told.gpus.size(), 1U);
  EXPECT_FALSE(told.gpus[0].less);
}

// A board that the plan leaves alone is not missed.
TEST(ExplainCounts, OpenBoardsThatAreNotUsedChangeNothing) {
  const Fleet fleet{{{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt, 1},
                     {"dear", test::board("h100-sxm5-80gb"), {}, std::nullopt, 5}}};
  const auto demand = services(fleet, 5, 2, 1);
  const auto plan = solve(fleet, demand).value();
  ASSERT_EQ(std::ranges::count(plan.groups, 1, &Group::kind), 0);
  const auto told = explain(fleet, demand, plan, {}).value();
  ASSERT_EQ(told.gpus.size(), 2U);
  ASSERT_TRUE(told.gpus[1].less);
  EXPECT_EQ(told.gpus[1].less->front().value, plan.levels.front().value);
  ASSERT_TRUE(told.gpus[0].less);
  EXPECT_GT(told.gpus[0].less->front().value, plan.levels.front().value);
}

// Asked again and again, the clock strikes at each of them: what is told is what all the time would have told.
TEST(ExplainStopped, TellsLessButNothingElse) {
  const Fleet fleet{
      {{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt, 1}, {"a30", test::board("a30-24gb"), {}, 3, 0.5}}};
  const auto demand = services(fleet, 11, 4, 1);
  const auto plan = solve(fleet, demand).value();
  const auto all = explain(fleet, demand, plan, {}).value();
  std::size_t fewest = all.margins.size(), most = 0;
  for (int strikes = 0; strikes < 400; strikes = strikes * 3 + 1) {
    int asked = 0;
    SolveOptions options;
    options.limits.stop = [&] { return asked++ >= strikes; };
    const auto told = explain(fleet, demand, plan, options).value();
    if (!told.stopped) continue;
    fewest = std::min(fewest, told.margins.size());
    most = std::max(most, told.margins.size());
    ASSERT_LE(told.margins.size(), all.margins.size());
    for (std::size_t i = 0; i < told.margins.size(); ++i) {
      EXPECT_EQ(told.margins[i].cheaper, all.margins[i].cheaper) << strikes;
      EXPECT_EQ(told.margins[i].here, all.margins[i].here) << strikes;
      EXPECT_EQ(told.margins[i].roomier, all.margins[i].roomier) << strikes;
    }
  }
  EXPECT_EQ(fewest, 0U);
  EXPECT_GT(most, 0U);
}

TEST(ExplainProgress, CountsEachLineAndBoardOnce) {
  const Fleet fleet{{{"a100", test::board("a100-sxm4-80gb"), {}, 4, 1}, {"a30", test::board("a30-24gb"), {}, 3, 0.5}}};
  const auto demand = services(fleet, 5, 3, 0.3);
  const auto plan = solve(fleet, demand).value();
  std::vector<std::pair<int, int>> steps;
  const auto tell = [&](int done, int total, const std::string&) { steps.emplace_back(done, total); };
  ASSERT_TRUE(explain(fleet, demand, plan, {}, tell));
  EXPECT_THAT(
      steps, testing::ElementsAre(std::pair(1, 5), std::pair(2, 5), std::pair(3, 5), std::pair(4, 5), std::pair(5, 5)));
}

}  // namespace
}  // namespace partita::fleet
