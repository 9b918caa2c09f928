#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fleet/exact/solve.h"
#include "fleet/exact/test_instances.h"
#include "fleet/files/demand_file.h"
#include "fleet/schedule/batch_plan.h"
#include "fleet/schedule/explain_timed.h"

namespace partita::fleet {
namespace {

using testing::HasSubstr;

Fleet fleet_of(const std::string& id, std::optional<std::int64_t> count) {
  return {{{id, test::board(id), {}, count}}};
}

constexpr std::string_view kTimes =
    "gpu,gpc_slices,create_s,destroy_s\nA100,1,0.16,0.2\nA100,7,0.24,0.22\nH100,1,0.2,0.21\nH100,7,0.4,0.3\n";

std::vector<std::vector<ReconfigureTime>> times(const Fleet& fleet) {
  std::vector<std::string> assumed;
  return reconfigure_times(kTimes, "times", fleet, {}, assumed).value();
}

Result<DemandFile> read(const std::string& text, const Fleet& fleet) {
  return read_demand("version: v1\n" + text, "d", fleet);
}

std::string refusal(const std::string& text) {
  const auto file = read(text, fleet_of("a100-sxm4-40gb", 1));
  return file ? "accepted" : file.error().message;
}

TEST(TimedFile, ReadsJobsBySizeAndByProfile) {
  const auto fleet = fleet_of("a100-sxm4-40gb", 2);
  const auto file =
      read(
          "jobs:\n- {name: a, times_s: {1: 40, 1g.10gb: 30, 7: 8.5}, count: 2, release_s: 5, priority: 2}\n"
          "- {times_s: {1: 9}, memory: 8GiB}\n- {workload: resnet50, samples: 1000, batch: 32, training: true}\n"
          "batch: {goal: mean_completion, deadline_s: 90, create_s: {1: 0.5}}\n",
          fleet)
          .value();
  ASSERT_EQ(file.batch.jobs.size(), 4U);
  EXPECT_EQ(file.batch.jobs[1].name, "a-2");
  EXPECT_EQ(file.batch.jobs[0].ways.size(), 3U);
  EXPECT_EQ(file.batch.jobs[0].release_s, 5);
  // A 1g.5gb has too little memory for the second: the double one serves.
  const auto& profiles = fleet.kinds[0].board->profiles;
  EXPECT_EQ(profiles[static_cast<std::size_t>(file.batch.jobs[2].ways[0].profile)].name, "1g.10gb");
  ASSERT_EQ(file.batch.predicted.size(), 1U);
  EXPECT_EQ(file.batch.predicted[0].batch, 32);
  EXPECT_EQ(file.batch.goal, JobGoal::mean_completion);
  EXPECT_FALSE(file.steady());
}

TEST(TimedFile, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal("jobs: []"), HasSubstr("d:2: jobs: expected at least one job"));
  EXPECT_THAT(refusal("jobs: [{name: a}]"), HasSubstr("either times_s, or workload"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: -4}}]"), HasSubstr("jobs[0].times_s.1: expected a number from"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: .nan}}]"), HasSubstr("expected"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 1e300}}]"), HasSubstr("expected a number from"));
  EXPECT_THAT(refusal("jobs: [{times_s: {5: 4}}]"), HasSubstr("at least one size that a board of the fleet has"));
  EXPECT_THAT(refusal("jobs: [{times_s: {9g.10gb: 4}}]"), HasSubstr("no profile \"9g.10gb\""));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}, release_s: -1}]"), HasSubstr("release_s"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}, priority: 0}]"), HasSubstr("priority"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}, count: 99999999999999999999}]"), HasSubstr("count"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}, count: 60000}, {times_s: {1: 4}, count: 60000}]"),
              HasSubstr("at most 100000"));
  EXPECT_THAT(refusal("jobs: [{workload: x}]"), HasSubstr("samples"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}, batch: 3}]"), HasSubstr("only a workload"));
  EXPECT_THAT(refusal("jobs: [{times_s: {1: 4}}]\nbatch: {goal: soon}"), HasSubstr("makespan or mean_completion"));
  EXPECT_THAT(refusal("batch: {goal: makespan}\ndemand: [{profile: 1g.5gb, count: 1}]"), HasSubstr("no jobs"));
  EXPECT_THAT(refusal("leases: []"), HasSubstr("at least one lease"));
  EXPECT_THAT(refusal("leases: [{profile: 3g.20gb, from_s: -1, for_s: 3}]"), HasSubstr("from_s"));
  EXPECT_THAT(refusal("leases: [{profile: 3g.20gb, from_s: 1, for_s: 0}]"), HasSubstr("for_s"));
  EXPECT_THAT(refusal("leases: [{profile: 3g.20gb, from_s: 1, for_s: 1, count: 6000}]"), HasSubstr("5000"));
  EXPECT_THAT(refusal("goal: cost"), HasSubstr("services, jobs or leases"));
}

TEST(TimedFile, TakesMeasuredTimesElseTheLongest) {
  const Fleet fleet{{fleet_of("a100-sxm4-40gb", 1).kinds[0], fleet_of("b200-180gb", 1).kinds[0]}};
  std::vector<std::string> assumed;
  const auto table = reconfigure_times(kTimes, "times", fleet, {}, assumed).value();
  EXPECT_EQ(table[0][0].create_s, 0.16);
  EXPECT_EQ(table[1][0].create_s, 0.2);
  EXPECT_THAT(assumed, testing::ElementsAre("b200-180gb"));
  BatchFile own;
  own.create_s = own.destroy_s = {{1, 3}};
  assumed.clear();
  EXPECT_EQ(reconfigure_times(kTimes, "times", fleet, own, assumed).value()[1].back().destroy_s, 3);
  EXPECT_TRUE(assumed.empty());
}

BatchFile batch_of(const Fleet& fleet, int jobs, double seconds, std::optional<double> deadline) {
  auto out = read("jobs: [{times_s: {3: " + std::to_string(seconds) + "}, count: " + std::to_string(jobs) + "}]", fleet)
                 .value()
                 .batch;
  out.deadline_s = deadline;
  return out;
}

TEST(BatchPlan, AddsTheFewestGpusThatMeetADeadline) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  // Two halves of a GPU run two jobs each within 25 s.
  const auto plan = plan_batch(room_beside(fleet, nullptr), batch_of(fleet, 12, 10, 25), times(fleet)).value();
  EXPECT_EQ(plan.added, 3);
  EXPECT_EQ(plan.added_bound, 3);
  EXPECT_LE(plan.schedule.makespan_s, 25);
  EXPECT_TRUE(validate(plan.room.fleet, plan.batch, plan.schedule));
  const auto without = plan_batch(room_beside(fleet, nullptr), batch_of(fleet, 12, 10, std::nullopt), times(fleet));
  EXPECT_THAT(without.error().message, HasSubstr("deadline"));
  const auto never = plan_batch(room_beside(fleet, nullptr), batch_of(fleet, 1, 10, 9), times(fleet));
  EXPECT_EQ(never.error().code, ErrorCode::no_space);
}

TEST(BatchPlan, CountsTheGpusThatTheScheduleUses) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  auto whole = read("jobs: [{times_s: {7: 100}, count: 200}]", fleet).value().batch;
  whole.deadline_s = 110;  // so each has a GPU of its own, although by area fewer do
  const auto plan = plan_batch(room_beside(fleet, nullptr), whole, times(fleet)).value();
  EXPECT_EQ(plan.added, 200);
  EXPECT_LT(plan.added_bound, 200);
  EXPECT_EQ(plan.room.fleet.kinds[0].count, 200);
  EXPECT_EQ(plan.schedule.gpus.size(), 200U);
  EXPECT_TRUE(validate(plan.room.fleet, plan.batch, plan.schedule));
}

TEST(BatchPlan, EndsSoonOnceItIsStopped) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  auto batch = read("jobs: [{times_s: {1: 100}, count: 700}]", fleet).value().batch;
  batch.deadline_s = 300;
  int asked = 0;
  const auto plan = plan_batch(room_beside(fleet, nullptr), batch, times(fleet), {.stop = [&] { return ++asked > 3; }});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("time limit"));
  EXPECT_LT(asked, 1000);
}

TEST(BatchPlan, UsesWhatTheSteadyPlanLeavesFree) {
  const auto fleet = fleet_of("a100-sxm4-40gb", 1);
  const auto steady = read("demand: [{profile: 3g.20gb, count: 1}]", fleet).value();
  const auto plan = solve(fleet, steady.demand).value();
  const auto room = room_beside(fleet, &plan);
  const auto beside = plan_batch(room, batch_of(fleet, 2, 10, std::nullopt), times(fleet)).value();
  EXPECT_NEAR(beside.schedule.makespan_s, 20.24, 0.01);  // one after the other on the other half
  const auto late = plan_batch(room, batch_of(fleet, 2, 10, 15), times(fleet));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::no_space);
  EXPECT_THAT(late.error().details.at(0), HasSubstr("no schedule"));
}

std::vector<TimedLease> leases_of(const std::string& text, const Fleet& fleet) {
  return read("leases: " + text, fleet).value().leases;
}

TEST(Calendar, FindsThePeakAndReusesWhatHasEnded) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  const auto leases = leases_of(
      "[{profile: 7g.40gb, from_s: 0, for_s: 10, count: 2}, {profile: 3g.20gb, from_s: 10, for_s: 10, count: 4}, "
      "{profile: "
      "1g.5gb, from_s: 5, for_s: 2}]",
      fleet);
  const auto plan = plan_leases(fleet, leases, times(fleet)).value();
  EXPECT_TRUE(validate(fleet, leases, plan)) << validate(fleet, leases, plan).error().message;
  EXPECT_EQ(plan.cost, 3);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.peak_s, 5);
  const auto two = fleet_of("a100-sxm4-40gb", 2);
  const auto refused =
      plan_leases(two, leases_of("[{profile: 7g.40gb, from_s: 3, for_s: 10, count: 3}]", two), times(two));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_space);
  EXPECT_THAT(refused.error().message, HasSubstr("at 3 s"));
}

TEST(Explain, TellsWhatLeasesAndJobsChange) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  const auto room = room_beside(fleet, nullptr);
  const auto leases = leases_of(
      "[{profile: 1g.5gb, from_s: 50, for_s: 9}, {profile: 7g.40gb, from_s: 0, for_s: 10, count: 2}, "
      "{profile: 3g.20gb, from_s: 5, for_s: 2}]",
      fleet);
  const auto plan = plan_timed_leases(room, leases, times(fleet)).value();
  const auto told = explain_leases(room, leases, times(fleet), plan).value();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[0].lease, 1);
  EXPECT_TRUE(told[0].at_peak);
  EXPECT_EQ(told[0].cost_without, 1);
  EXPECT_EQ(told[1].cost_without, 2);  // the 3g.20gb
  EXPECT_FALSE(told[2].at_peak);
  EXPECT_EQ(told[2].cost_without, 3);

  // Halves of a GPU, 10 s a job: four on one GPU take two rounds, on two GPUs one, on none they do not run.
  const auto one = fleet_of("a100-sxm4-40gb", 1);
  const auto batch = plan_batch(room_beside(one, nullptr), batch_of(one, 4, 10, std::nullopt), times(one)).value();
  const auto margin = explain_batch(batch).value();
  EXPECT_EQ(margin.less, std::nullopt);
  ASSERT_TRUE(margin.more);
  EXPECT_GT(batch.schedule.makespan_s, 20);
  EXPECT_GT(*margin.more, 10);
  EXPECT_LT(*margin.more, 11);
  EXPECT_EQ(margin.alone_s, 10);
}

// What the clock cuts short is not told as if it was found.
TEST(Explain, TellsNothingThatTheClockCutShort) {
  const auto one = fleet_of("a100-sxm4-40gb", 1);
  const auto batch = plan_batch(room_beside(one, nullptr), batch_of(one, 4, 10, std::nullopt), times(one)).value();
  ScheduleOptions over;
  over.stop = [] { return true; };
  const auto margin = explain_batch(batch, over).value();
  EXPECT_TRUE(margin.stopped);
  EXPECT_EQ(margin.less, std::nullopt);
  EXPECT_EQ(margin.more, std::nullopt);
  const auto room = room_beside(one, nullptr);
  const auto leases = leases_of("[{profile: 1g.5gb, from_s: 50, for_s: 9}]", one);
  const auto plan = plan_timed_leases(room, leases, times(one)).value();
  EXPECT_TRUE(explain_leases(room, leases, times(one), plan, over.stop).value().empty());
}

TEST(Calendar, MediaEnginesGoToOneLeaseAtATime) {
  const auto fleet = fleet_of("a100-sxm4-40gb", std::nullopt);
  const auto leases = leases_of(
      "[{profile: 1g.5gb+me, from_s: 0, for_s: 9, count: 2}, {name: later, profile: 1g.5gb+me, from_s: 9, for_s: 9}]",
      fleet);
  const auto calendar = plan_leases(fleet, leases, times(fleet)).value();
  EXPECT_EQ(calendar.gpus.size(), 2U);
  EXPECT_TRUE(calendar.optimal());
  EXPECT_TRUE(validate(fleet, leases, calendar));
  auto wrong = calendar;
  wrong.gpus[0].spans.push_back(wrong.gpus[1].spans[0]);
  wrong.gpus[0].spans.back().placed.start = wrong.gpus[0].spans[0].placed.start == 0 ? 6 : 0;
  wrong.gpus.pop_back();
  EXPECT_THAT(validate(fleet, leases, wrong).error().message, HasSubstr("do not go together"));
}

TEST(Calendar, IsRightOnRandomLeasesAndNearItsBound) {
  std::mt19937 random(5);
  double cost = 0;
  double bound = 0;
  for (int round = 0; round < 60; ++round) {
    const Fleet fleet{
        {{"a100", test::board("a100-sxm4-40gb"), {}, std::nullopt, 1}, {"a30", test::board("a30-24gb"), {}, 3, 0.4}}};
    std::vector<TimedLease> leases;
    for (int i = 0; i < 40; ++i) {
      const auto profiles = test::plain_profiles(*fleet.kinds[0].board);
      leases.push_back({"l",
                        {{0, profiles[random() % profiles.size()], 1}},
                        static_cast<double>(random() % 100),
                        1 + static_cast<double>(random() % 50),
                        1 + static_cast<std::int64_t>(random() % 3)});
      if (random() % 3 == 0)
        leases.back().servers = {{1, test::plain_profiles(*fleet.kinds[1].board)[0], 1}, leases.back().servers[0]};
    }
    const auto plan = plan_leases(fleet, leases, times(fleet));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(validate(fleet, leases, *plan)) << validate(fleet, leases, *plan).error().message;
    EXPECT_LE(plan->bound, plan->cost);
    cost += plan->cost;
    bound += plan->bound;
  }
  EXPECT_LE(cost, 1.15 * bound);
}

TEST(Calendar, ValidatorSeesWhatIsWrong) {
  const auto fleet = fleet_of("a100-sxm4-40gb", 1);
  const auto leases = leases_of("[{profile: 3g.20gb, from_s: 0, for_s: 10, count: 2}]", fleet);
  const auto good = plan_leases(fleet, leases, times(fleet)).value();
  ASSERT_TRUE(validate(fleet, leases, good));
  auto bad = good;
  bad.gpus[0].spans[1].placed = bad.gpus[0].spans[0].placed;
  EXPECT_THAT(validate(fleet, leases, bad).error().message, HasSubstr("at once"));
  bad = good;
  bad.gpus[0].spans.pop_back();
  EXPECT_THAT(validate(fleet, leases, bad).error().message, HasSubstr("has 1 of"));
  bad = good;
  bad.gpus[0].spans[0].from_s = 1;
  EXPECT_THAT(validate(fleet, leases, bad).error().message, HasSubstr("another time"));
  bad = good;
  bad.gpus[0].spans[0].placed.start = 1;
  EXPECT_THAT(validate(fleet, leases, bad).error().message, HasSubstr("none can be"));
  bad = good;
  bad.gpus.push_back({0, {}});
  EXPECT_THAT(validate(fleet, leases, bad).error().message, HasSubstr("too many"));
}

}  // namespace
}  // namespace partita::fleet
