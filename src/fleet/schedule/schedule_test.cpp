#include "fleet/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "catalog/catalog.h"
#include "fleet/exact/test_instances.h"
#include "fleet/schedule/anneal.h"
#include "fleet/schedule/job_table.h"

namespace partita::fleet {
namespace {

using testing::HasSubstr;

Kind kind(const std::string& id, std::int64_t count, std::vector<Occupant> state = {}) {
  return {id, test::board(id), std::move(state), count};
}

std::vector<ReconfigureTime> times_of(const Kind& of, double create, double destroy) {
  return std::vector<ReconfigureTime>(of.board->profiles.size(), {create, destroy});
}

int profile(const Kind& of, const std::string& name) {
  for (std::size_t p = 0; p < of.board->profiles.size(); ++p)
    if (of.board->profiles[p].name == name) return static_cast<int>(p);
  return -1;
}

// Jobs take one way each: kind 0, this profile, so many seconds.
Batch batch_of(const Fleet& fleet, const std::vector<std::pair<std::string, double>>& jobs, double create,
               double destroy) {
  Batch out;
  for (const auto& each : fleet.kinds) out.times.push_back(times_of(each, create, destroy));
  for (std::size_t j = 0; j < jobs.size(); ++j)
    out.jobs.push_back({"job-" + std::to_string(j), {{0, profile(fleet.kinds[0], jobs[j].first), jobs[j].second}}});
  return out;
}

Schedule made(const Fleet& fleet, const Batch& batch, const ScheduleOptions& options = {.steps = 40'000}) {
  auto out = schedule(fleet, batch, options);
  if (!out) throw std::runtime_error(out.error().message);
  if (const auto right = validate(fleet, batch, *out); !right) throw std::runtime_error(right.error().message);
  return std::move(*out);
}

TEST(Schedule, CreatesOneInstanceAfterTheOther) {
  const Fleet fleet{{kind("a100-sxm4-40gb", 1)}};
  // Two halves: the second is ready when both are created.
  const auto halves = made(fleet, batch_of(fleet, {{"3g.20gb", 10}, {"3g.20gb", 10}}, 1, 2));
  EXPECT_DOUBLE_EQ(halves.makespan_s, 12);
  // The longer job goes first.
  EXPECT_DOUBLE_EQ(made(fleet, batch_of(fleet, {{"3g.20gb", 10}, {"3g.20gb", 30}}, 1, 2)).makespan_s, 31);
  // A whole GPU, then two halves: created, run, destroyed, created twice.
  const auto split = made(fleet, batch_of(fleet, {{"7g.40gb", 5}, {"3g.20gb", 10}, {"3g.20gb", 10}}, 1, 2));
  EXPECT_DOUBLE_EQ(split.makespan_s, 1 + 5 + 2 + 1 + 1 + 10);
  // Two on one instance need no reconfiguration between them.
  EXPECT_DOUBLE_EQ(made(fleet, batch_of(fleet, {{"7g.40gb", 5}, {"7g.40gb", 6}}, 1, 2)).makespan_s, 12);
}

TEST(Schedule, UsesWhatIsThereAndLeavesWhatIsPinned) {
  const Kind bare = kind("a100-sxm4-40gb", 1);
  const int half = profile(bare, "3g.20gb");
  const Fleet idle{{kind("a100-sxm4-40gb", 1, {{{half, 0}, false}})}};
  EXPECT_DOUBLE_EQ(made(idle, batch_of(idle, {{"3g.20gb", 10}}, 1, 2)).makespan_s, 10);
  EXPECT_DOUBLE_EQ(made(idle, batch_of(idle, {{"7g.40gb", 10}}, 1, 2)).makespan_s, 2 + 1 + 10);
  const Fleet pinned{{kind("a100-sxm4-40gb", 1, {{{half, 0}, true}})}};
  EXPECT_DOUBLE_EQ(made(pinned, batch_of(pinned, {{"3g.20gb", 10}, {"3g.20gb", 4}}, 1, 2)).makespan_s, 15);
  const auto whole = schedule(pinned, batch_of(pinned, {{"3g.20gb", 1}, {"7g.40gb", 10}}, 1, 2));
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::impossible);
  EXPECT_THAT(whole.error().message, HasSubstr("job-1"));
}

// There is one set of media engines: instances that have it are never there together, wherever they are.
TEST(Schedule, MediaEnginesGoToOneInstanceAtATime) {
  const std::string me = "1g.5gb+me";
  const Kind bare = kind("a100-sxm4-40gb", 1);
  const Fleet fleet{{bare}};
  EXPECT_DOUBLE_EQ(made(fleet, batch_of(fleet, {{me, 10}, {me, 10}, {me, 10}}, 1, 2)).makespan_s, 1 + 30);
  const int p = profile(bare, me);
  const Fleet idle{{kind("a100-sxm4-40gb", 1, {{{p, 6}, false}})}};
  EXPECT_DOUBLE_EQ(made(idle, batch_of(idle, {{me, 10}, {me, 10}}, 1, 2)).makespan_s, 20);
  const Fleet pinned{{kind("a100-sxm4-40gb", 1, {{{p, 6}, true}})}};
  const auto none = schedule(pinned, batch_of(pinned, {{me, 10}}, 1, 2));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::impossible);
}

TEST(Schedule, ValidatorSeesTwoSetsOfMediaEngines) {
  const Fleet fleet{{kind("a100-sxm4-40gb", 1)}};
  const auto batch = batch_of(fleet, {{"1g.5gb+me", 10}, {"1g.5gb+me", 10}}, 1, 2);
  auto wrong = made(fleet, batch);
  auto& instances = wrong.gpus.at(0).instances;
  ASSERT_EQ(instances.size(), 1U);
  instances.push_back(instances[0]);  // as well elsewhere, one job on each
  instances[1].placed.start = instances[0].placed.start == 0 ? 6 : 0;
  instances[1].create_s = 1;
  instances[1].ready_s = 2;
  instances[0].runs.pop_back();
  instances[1].runs.erase(instances[1].runs.begin());
  EXPECT_THAT(validate(fleet, batch, wrong).error().message, HasSubstr("do not go together"));
}

TEST(Schedule, WaitsForReleasesAndPutsPriorityFirst) {
  const Fleet fleet{{kind("a30-24gb", 1)}};
  auto batch = batch_of(fleet, {{"4g.24gb", 10}, {"4g.24gb", 10}}, 0, 0);
  batch.jobs[0].release_s = 25;
  EXPECT_DOUBLE_EQ(made(fleet, batch).makespan_s, 35);
  batch.goal = JobGoal::mean_completion;
  EXPECT_DOUBLE_EQ(made(fleet, batch).mean_completion_s, (10 + 35) / 2.0);
  batch.jobs[0].release_s = 0;
  batch.jobs[1].priority = 3;
  const auto weighted = made(fleet, batch);
  EXPECT_DOUBLE_EQ(weighted.mean_completion_s, (10 * 3 + 20) / 4.0);
  EXPECT_TRUE(weighted.optimal(batch.goal));
}

// Every placement that overlaps no other is legal beside it: what the search and the bound take for granted.
TEST(Schedule, OverlapIsTheOnlyRuleAmongPlainProfiles) {
  auto catalog = catalog::Catalog::open().value();
  for (const auto& entry : catalog.boards()) {
    const auto board = catalog.board(entry.id).value();
    const plan::Geometry geometry(*board);
    const auto plain = test::plain_profiles(*board);
    std::vector<plan::Placed> now;
    const std::function<void(int, plan::SliceMask)> extend = [&](int from, plan::SliceMask taken) {
      EXPECT_TRUE(plan::valid(geometry, now)) << entry.id;
      for (int unit = from; unit < geometry.units(); ++unit)
        for (const int p : plain)
          for (const auto& place : geometry.profiles()[static_cast<std::size_t>(p)].placements) {
            if (place.start != unit || (place.mask & taken) != 0) continue;
            now.push_back({p, unit});
            extend(unit + 1, taken | place.mask);
            now.pop_back();
          }
    };
    extend(0, 0);
  }
}

struct RandomCase {
  Fleet fleet;
  Batch batch;
};

RandomCase random_case(std::uint32_t seed, int most_jobs) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  RandomCase out;
  const std::array<const char*, 4> boards{"a30-24gb", "a100-sxm4-40gb", "h100-sxm5-80gb", "rtx-pro-6000-server"};
  for (int k = 1 + below(2); k > 0; --k) {
    const auto* id = boards[static_cast<std::size_t>(below(4))];
    auto one = kind(id, 1 + below(4));
    test::PythonRandom python(seed);
    const plan::Geometry geometry(*one.board);
    std::vector<plan::Placed> placed;
    if (below(2) == 0) test::fill(python, geometry, test::plain_profiles(*one.board), placed);
    for (const auto& each : placed)
      if (below(2) == 0) one.state.push_back({each, below(3) == 0});
    std::ranges::sort(one.state, {}, [](const Occupant& each) { return each.placed.start; });
    out.fleet.kinds.push_back(std::move(one));
  }
  for (const auto& each : out.fleet.kinds) out.batch.times.push_back(times_of(each, 0.1 * below(5), 0.1 * below(5)));
  out.batch.goal = below(2) == 0 ? JobGoal::makespan : JobGoal::mean_completion;
  const bool releases = below(2) == 0;
  for (int n = 1 + below(most_jobs); n > 0; --n) {
    Job job{"j", {}, releases ? static_cast<double>(below(100)) : 0, 1.0 + below(4)};
    for (std::size_t k = 0; k < out.fleet.kinds.size(); ++k)
      for (const int p : test::plain_profiles(*out.fleet.kinds[k].board)) {
        const int slices = out.fleet.kinds[k].board->profiles[static_cast<std::size_t>(p)].compute_slices;
        if (below(4) != 0) job.ways.push_back({static_cast<int>(k), p, 1 + (below(10'000) / 100.0 / slices)});
      }
    if (!job.ways.empty()) out.batch.jobs.push_back(std::move(job));
  }
  return out;
}

TEST(Schedule, IsRightAndNeverBelowItsBoundOnRandomFleets) {
  int made_ones = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto one = random_case(seed, 24);
    if (one.batch.jobs.empty()) continue;
    const auto plan = schedule(one.fleet, one.batch, {.steps = 20'000});
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::impossible) << seed << plan.error().message;
      continue;
    }
    ++made_ones;
    const auto right = validate(one.fleet, one.batch, *plan);
    EXPECT_TRUE(right) << seed << ' ' << right.error().message;
    EXPECT_LE(plan->bound_s, plan->value(one.batch.goal)) << seed;
    EXPECT_GT(plan->bound_s, 0) << seed;
  }
  EXPECT_GT(made_ones, 200);
}

// The least makespan over all ways to put the jobs on the places of one GPU.
Micros least_by_enumeration(const JobTable& table, int kind, Direction direction) {
  const auto& order = table.order(kind, direction);
  std::vector<Micros> load(order.places.size());
  Micros best = std::numeric_limits<Micros>::max();
  const std::function<void(int)> place = [&](int job) {
    if (job == static_cast<int>(table.jobs())) {
      PlaceSet active = 0;
      for (std::size_t i = 0; i < load.size(); ++i)
        if (load[i] > 0) active |= PlaceSet{1} << i;
      const auto run = [&](int i, Micros ready) { return ready + load[static_cast<std::size_t>(i)]; };
      best = std::min(best, play(order, active, load.data(), run).end);
      return;
    }
    for (std::size_t i = 0; i < load.size(); ++i) {
      const Micros time = table.time(kind, job, order.places[i].placed.profile);
      if (time == 0) continue;
      load[i] += time;
      place(job + 1);
      load[i] -= time;
    }
  };
  place(0);
  return best;
}

TEST(Schedule, FindsTheLeastOfAllAssignments) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Fleet fleet{{kind("a30-24gb", 1)}};
    Batch batch{{}, {times_of(fleet.kinds[0], 0.3, 0.2)}};
    for (int j = 0; j < 5; ++j) {
      Job job{"j", {}};
      for (const int p : test::plain_profiles(*fleet.kinds[0].board)) {
        const auto slices = fleet.kinds[0].board->profiles[static_cast<std::size_t>(p)].compute_slices;
        job.ways.push_back({0, p, 1 + (static_cast<double>(random() % 1000) / 10 / slices)});
      }
      batch.jobs.push_back(std::move(job));
    }
    const JobTable table(fleet, batch);
    const double least = static_cast<double>(least_by_enumeration(table, 0, Direction::splitting)) * 1e-6;
    EXPECT_DOUBLE_EQ(made(fleet, batch, {.steps = 100'000}).makespan_s, least) << round;
  }
}

// A large instance that is worth its time only once most jobs run on it: no few changes lead there.
TEST(Schedule, FindsLargeInstancesThatAllJobsShare) {
  for (const std::int64_t gpus : {1, 2, 3})
    for (const int jobs : {3, 5, 6}) {
      const Fleet fleet{{kind("a100-sxm4-40gb", gpus)}};
      auto batch = batch_of(fleet, {}, 0.16, 0.2);
      for (int j = 0; j < jobs * gpus; ++j)
        batch.jobs.push_back(
            {"job-" + std::to_string(j),
             {{0, profile(fleet.kinds[0], "1g.5gb"), 25.0 * jobs}, {0, profile(fleet.kinds[0], "7g.40gb"), 15}}});
      EXPECT_LE(made(fleet, batch).makespan_s, (15.0 * jobs) + 0.17) << gpus << ' ' << jobs;
    }
}

TEST(Schedule, RepeatsItself) {
  const auto one = random_case(3, 24);
  const auto first = made(one.fleet, one.batch);
  const auto second = made(one.fleet, one.batch);
  EXPECT_EQ(first.makespan_s, second.makespan_s);
  EXPECT_EQ(first.mean_completion_s, second.mean_completion_s);
}

TEST(Schedule, SpreadsThousandsOfJobsNearTheBound) {
  std::mt19937 random(1);
  const Fleet fleet{{kind("h100-sxm5-80gb", 16), kind("a30-24gb", 8)}};
  Batch batch{{}, {times_of(fleet.kinds[0], 0.3, 0.2), times_of(fleet.kinds[1], 0.1, 0.1)}};
  for (int j = 0; j < 2000; ++j) {
    Job job{"j", {}};
    const double work = 10 + static_cast<double>(random() % 100);
    for (int k = 0; k < 2; ++k)
      for (const int p : test::plain_profiles(*fleet.kinds[static_cast<std::size_t>(k)].board)) {
        const int slices =
            fleet.kinds[static_cast<std::size_t>(k)].board->profiles[static_cast<std::size_t>(p)].compute_slices;
        job.ways.push_back({k, p, work / (slices * (k == 0 ? 2.0 : 1.0)) + 1});
      }
    batch.jobs.push_back(std::move(job));
  }
  const auto plan = made(fleet, batch, {});
  EXPECT_LE(plan.makespan_s, 1.04 * plan.bound_s);
}

TEST(Schedule, RefusesWhatIsNotWellFormed) {
  const Fleet fleet{{kind("a30-24gb", 1)}};
  const auto good = batch_of(fleet, {{"4g.24gb", 10}}, 0.1, 0.1);
  const auto refused = [&](const std::function<void(Batch&, Fleet&)>& spoil) {
    auto batch = good;
    auto where = fleet;
    spoil(batch, where);
    const auto plan = schedule(where, batch, {.steps = 1000});
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.jobs.clear(); }), HasSubstr("at least one job"));
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.jobs[0].release_s = -1; }), HasSubstr("release"));
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.jobs[0].priority = 0; }), HasSubstr("priority"));
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.jobs[0].ways[0].seconds = std::nan(""); }), HasSubstr("time above 0"));
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.times[0][0].create_s = -1; }), HasSubstr("reconfiguration"));
  EXPECT_THAT(refused([](Batch&, Fleet& f) { f.kinds[0].count.reset(); }), HasSubstr("number of GPUs"));
  EXPECT_THAT(refused([](Batch& b, Fleet&) { b.jobs[0].ways.clear(); }), HasSubstr("fits on none"));
}

// The validator sees each kind of fault.
TEST(ScheduleValidator, SeesWhatIsWrong) {
  const Fleet fleet{{kind("a100-sxm4-40gb", 1)}};
  const auto batch = batch_of(fleet, {{"7g.40gb", 5}, {"3g.20gb", 10}, {"3g.20gb", 10}}, 1, 2);
  const auto good = made(fleet, batch);
  const auto fault = [&](const std::function<void(std::vector<TimedInstance>&)>& spoil) {
    auto bad = good;
    spoil(bad.gpus[0].instances);
    const auto right = validate(fleet, batch, bad);
    return right ? std::string("none") : right.error().message;
  };
  using List = std::vector<TimedInstance>;
  ASSERT_EQ(good.gpus[0].instances.size(), 3U);
  EXPECT_EQ(fault([](List&) {}), "none");
  EXPECT_THAT(fault([](List& l) { l[1].placed.start = 1; }), HasSubstr("where none can be"));
  EXPECT_THAT(fault([](List& l) { l[1].placed = l[2].placed; }), HasSubstr("at once"));
  EXPECT_THAT(fault([](List& l) { l[0].destroy_s.reset(), l[0].gone_s.reset(); }), HasSubstr("at once"));
  EXPECT_THAT(fault([](List& l) { l[1].ready_s -= 0.5; }), HasSubstr("to create"));
  EXPECT_THAT(fault([](List& l) { l[0].gone_s = *l[0].gone_s - 1; }), HasSubstr("to destroy"));
  EXPECT_THAT(fault([](List& l) { l[0].destroy_s = *l[0].destroy_s - 1, l[0].gone_s = *l[0].gone_s - 1; }),
              HasSubstr("runs a job"));
  EXPECT_THAT(fault([](List& l) { l[2].create_s -= 0.5, l[2].ready_s -= 0.5; }), HasSubstr("two instances at once"));
  EXPECT_THAT(fault([](List& l) { l[1].runs[0].begin_s -= 1; }), HasSubstr("too early"));
  EXPECT_THAT(fault([](List& l) { l[1].runs[0].end_s -= 1; }), HasSubstr("another time"));
  EXPECT_THAT(fault([](List& l) { l[1].runs.clear(); }), HasSubstr("0 times"));
  EXPECT_THAT(fault([](List& l) { l[1].runs[0].job = 0; }), HasSubstr("no time for"));
  EXPECT_THAT(fault([](List& l) { l[1].there = true; }), HasSubstr("was not there"));
  auto bad = good;
  bad.makespan_s += 1;
  EXPECT_FALSE(validate(fleet, batch, bad));
  bad = good;
  bad.gpus.push_back(bad.gpus[0]);
  EXPECT_THAT(validate(fleet, batch, bad).error().message, HasSubstr("too many"));
}

}  // namespace
}  // namespace partita::fleet
