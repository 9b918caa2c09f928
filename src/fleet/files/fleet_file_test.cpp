#include "fleet/files/fleet_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/exact/solve.h"
#include "fleet/exact/validate.h"
#include "fleet/files/demand_file.h"
#include "fleet/files/nodes.h"
#include "fleet/schedule/deadline.h"

namespace partita::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<FleetFile> read(const std::string& text) {
  auto catalog = catalog::Catalog::open().value();
  FleetFile out;
  if (auto done = read_fleet(text, "fleet.yaml", catalog, out); !done) return std::unexpected(done.error());
  return out;
}

std::string groups(const std::string& lines) { return "version: v1\nfleet:\n" + lines; }

TEST(FleetFile, ReadsDescribedNodes) {
  const auto file =
      read(groups("  - {board: h100-sxm5-80gb, nodes: 40, price: 2.5}\n"
                  "  - name: mixed\n    nodes: 2\n    gpus:\n"
                  "      - {board: a100-sxm4-40gb, count: 4, holds: [{profile: 3g.20gb, start: 4, pinned: true}]}\n"
                  "      - {board: a30-24gb, count: 2}\n"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->fleet.kinds.size(), 3U);
  EXPECT_EQ(file->fleet.kinds[0].count, 320);
  EXPECT_EQ(file->fleet.kinds[0].price, 2.5);
  EXPECT_EQ(file->fleet.kinds[1].count, 8);
  ASSERT_EQ(file->fleet.kinds[1].state.size(), 1U);
  EXPECT_TRUE(file->fleet.kinds[1].state[0].pinned);
  EXPECT_THAT(file->groups[1].kinds, ElementsAre(1, 1, 1, 1, 2, 2));
}

TEST(FleetFile, ReadsTheStatusOfALiveNode) {
  const auto file = read(R"({"node": "n1", "gpus": [
    {"board": "a100-sxm4-40gb", "fault": null, "gpu_instances": [
      {"profile": "3g.20gb", "placement_start": 4, "pins": [{"reason": "busy", "holder": "pid 1"}]},
      {"profile": "1g.5gb", "placement_start": 0, "pins": []}]},
    {"board": "a100-sxm4-40gb", "fault": "lost", "gpu_instances": []},
    {"board": null, "fault": null, "gpu_instances": []}]})");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->fleet.kinds.size(), 1U);
  EXPECT_EQ(file->fleet.kinds[0].count, 1);
  ASSERT_EQ(file->fleet.kinds[0].state.size(), 2U);
  EXPECT_FALSE(file->fleet.kinds[0].state[0].pinned);
  EXPECT_TRUE(file->fleet.kinds[0].state[1].pinned);
}

// A node of four A100s: lost, with MIG mode off and a process, with MIG mode off, with MIG mode on.
std::string live_node(const std::string& name, const std::string& uuids) {
  const auto gpu = [&](int index, const std::string& fault, bool on, const std::string& processes) {
    return fmt::format(
        R"({{"index": {0}, "uuid": "GPU-{1}{0}", "board": "a100-sxm4-40gb", "fault": {2}, "mig_mode": {{"current": {3},)"
        R"( "pending": {3}}}, "gpu_instances": [], "processes": [{4}]}})",
        index, uuids, fault, on, processes);
  };
  return R"({"node": ")" + name + R"(", "gpus": [)" + gpu(0, R"("lost")", true, "") + ", " +
         gpu(1, "null", false, R"({"pid": 7})") + ", " + gpu(2, "null", false, "") + ", " + gpu(3, "null", true, "") +
         "]}";
}

TEST(FleetFile, AGpuInUseWithoutMigTakesNoPart) {
  const auto file = read(live_node("n1", "a"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->fleet.kinds.at(0).count, 2);
  ASSERT_EQ(file->groups.at(0).live.size(), 2U);
  EXPECT_EQ(file->groups[0].live[0].index, 2);
  EXPECT_FALSE(file->groups[0].live[0].mig_on);
  EXPECT_EQ(file->groups[0].live[1].index, 3);
  EXPECT_TRUE(file->groups[0].live[1].mig_on);
}

TEST(FleetFile, RefusesALiveNodeThatIsThereAlready) {
  auto catalog = catalog::Catalog::open().value();
  FleetFile into;
  ASSERT_TRUE(read_fleet(live_node("n1", "a"), "one.json", catalog, into));
  ASSERT_TRUE(read_fleet(live_node("n2", "b"), "two.json", catalog, into));
  const auto name = read_fleet(live_node("n1", "c"), "three.json", catalog, into);
  ASSERT_FALSE(name);
  EXPECT_THAT(name.error().message, HasSubstr("\"n1\" is there already"));
  const auto uuid = read_fleet(live_node("n3", "b"), "three.json", catalog, into);
  ASSERT_FALSE(uuid);
  EXPECT_THAT(uuid.error().message, HasSubstr("three.json:1: gpus[2].uuid: the GPU GPU-b2 is there already"));
  EXPECT_FALSE(read_fleet(groups("  - {name: n1, board: a30-24gb, nodes: 1}\n"), "four.yaml", catalog, into));
}

TEST(FleetFile, SaysWhereMigModeMustBeTurnedOn) {
  const auto file = read(live_node("n1", "a"));
  ASSERT_TRUE(file);
  const auto files_for = [&](int count, std::vector<MigOff>& off) {
    const auto demand =
        read_demand(fmt::format("version: v1\ndemand: [{{profile: 7g.40gb, count: {}}}]\n", count), "d", file->fleet);
    const auto plan = solve(file->fleet, demand->demand).value();
    const auto nodes = spread(*file, plan);
    off = mig_to_turn_on(*file, plan, nodes, {});
    return mig_parted_files(*file, plan, nodes);
  };
  std::vector<MigOff> off;
  const auto one = files_for(1, off);  // the GPU with MIG mode on is enough
  EXPECT_TRUE(off.empty());
  ASSERT_EQ(one.at(0).file.labels.at(0).entries.size(), 1U);
  EXPECT_EQ(one[0].file.labels[0].entries[0].devices, std::vector<int>{3});
  const auto two = files_for(2, off);
  ASSERT_EQ(off.size(), 1U);
  EXPECT_THAT(off[0].gpus, ElementsAre(2));
  EXPECT_EQ(two.at(0).file.labels.at(0).entries.at(0).devices, (std::vector<int>{2, 3}));
}

TEST(FleetFile, SaysWhichLiveGpusTimedWorkRunsOn) {
  const auto file = read(live_node("n1", "a")).value();  // indices 2, with MIG mode off, and 3: one kind
  const TimedGpu off{0, 0}, on{0, 1}, any;
  EXPECT_THAT(timed_gpus(file, {}, {0}), ElementsAre(on));
  EXPECT_THAT(timed_gpus(file, {}, {0, 1, 0, 0}), ElementsAre(on, any, off, any));
  EXPECT_TRUE(mig_to_turn_on(file, {}, {}, {on}).empty());
  EXPECT_THAT(mig_to_turn_on(file, {}, {}, {on, any, off}).at(0).gpus, ElementsAre(2));
  // Beside a plan kinds are its groups: what serves, and what is left.
  const auto demand = read_demand("version: v1\ndemand: [{profile: 7g.40gb, count: 1}]\n", "d", file.fleet).value();
  const auto plan = solve(file.fleet, demand.demand).value();
  const auto nodes = spread(file, plan);
  EXPECT_THAT(timed_gpus(file, nodes, {nodes[0].gpus[0], nodes[0].gpus[1]}), ElementsAre(off, on));
}

TEST(FleetFile, RefusesWithFileLineAndKey) {
  const auto message = [](const std::string& text) {
    const auto file = read(text);
    return file ? "accepted" : file.error().message;
  };
  EXPECT_THAT(message(groups("  []\n")), HasSubstr("found none"));
  EXPECT_THAT(message(groups("  - {board: h100-sxm5-80g, nodes: 1}\n")), HasSubstr("h100-sxm5-80gb"));
  EXPECT_THAT(message(groups("  - {board: h100-sxm5-80g, nodes: 1}\n")), HasSubstr("fleet[0].board: no board"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 99999999999999999999}\n")), HasSubstr("fleet.yaml:3"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 0}\n")), HasSubstr("fleet[0].nodes"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1000000, gpus_per_node: 64}\n")), HasSubstr("at most"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1, price: -1}\n")), HasSubstr("above 0"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1, holds: [{profile: 4g.24gb, start: 1}]}\n")),
              HasSubstr("do not go together"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1}\n  - {board: a30-24gb, nodes: 2}\n")),
              HasSubstr("name of its own"));
  EXPECT_THAT(message(groups("  - {board: gb10, nodes: 1, holds: []}\n")), HasSubstr("accepted"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1, name: \"\"}\n")), HasSubstr("expected a name"));
  EXPECT_THAT(message(groups("  - {board: a30-24gb, nodes: 1, holds: [{profile: 1c.2g.12gb, start: 0}]}\n")),
              HasSubstr("give 2g.12gb"));
}

// What is proven is proven to within a millionth: prices are far above that, as are their differences.
TEST(FleetFile, RefusesPricesThatNoProofCouldTellApart) {
  const auto accepted = [](const std::string& price) {
    return read(groups("  - {board: a30-24gb, nodes: 1, price: " + price + "}\n")).has_value();
  };
  for (const auto* price : {"0.01", "0.0101", "2.4999", "3", "1000000", "123456.7891"}) EXPECT_TRUE(accepted(price));
  for (const auto* price : {"1e-7", "0.0099", "0.33333", "1000001", "2.00001"}) EXPECT_FALSE(accepted(price));
}

TEST(DemandFile, ReadsCountsByNameAndBySize) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n  - {board: a30-24gb, nodes: 1}\n"));
  ASSERT_TRUE(fleet);
  const auto demand = read_demand(
      "version: v1\ngoal: touched\ndemand:\n"
      "  - {profile: 3g.40gb, count: 2}\n  - {compute: 2, memory: 11GiB, count: 3, name: two}\n",
      "demand.yaml", fleet->fleet);
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(demand->demand.goal, Goal::touched);
  ASSERT_EQ(demand->demand.wants.size(), 2U);
  EXPECT_EQ(demand->demand.wants[0].servers.size(), 1U);
  EXPECT_EQ(demand->demand.wants[1].servers.size(), 2U);
  EXPECT_EQ(demand->demand.wants[1].name, "two");
}

// A 1g.5gb is less than the 1g.6gb that is asked for; where no board spells it so, it is what is meant.
TEST(DemandFile, ANameIsForTheBoardsThatSpellItSo) {
  const std::string a100 = "  - {board: a100-sxm4-40gb, nodes: 1}\n", a30 = "  - {board: a30-24gb, nodes: 1}\n";
  for (const std::string what :
       {"demand: [{profile: 1g.6gb, count: 1}]", "leases: [{profile: 1g.6gb, from_s: 0, for_s: 1}]",
        "jobs: [{times_s: {1g.6gb: 9}}]"}) {
    const auto kinds = [&](const std::string& fleet) {
      const auto file = read(groups(fleet)).value().fleet;
      const auto demand = read_demand("version: v1\n" + what + "\n", "d", file).value();
      std::vector<std::string> out;
      for (const auto& want : demand.demand.wants)
        for (const auto& server : want.servers)
          out.push_back(file.kinds.at(static_cast<std::size_t>(server.kind)).board->id);
      for (const auto& lease : demand.leases)
        for (const auto& server : lease.servers)
          out.push_back(file.kinds.at(static_cast<std::size_t>(server.kind)).board->id);
      for (const auto& job : demand.batch.jobs)
        for (const auto& way : job.ways) out.push_back(file.kinds.at(static_cast<std::size_t>(way.kind)).board->id);
      return out;
    };
    EXPECT_THAT(kinds(a100 + a30), ElementsAre("a30-24gb")) << what;
    EXPECT_THAT(kinds(a100), ElementsAre("a100-sxm4-40gb")) << what;
  }
}

TEST(DemandFile, RefusesWhatItWouldIgnore) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n"));
  const auto message = [&](const std::string& text) {
    const auto demand = read_demand("version: v1\n" + text + "\n", "d", fleet->fleet);
    return demand ? "accepted" : demand.error().message;
  };
  const std::string count = "demand: [{profile: 1g.10gb, count: 1}]\n";
  const std::string service = "services: [{model: resnet50, rate_per_s: 1, limit_ms: 99}]\npoints: ";
  EXPECT_THAT(message("demand: [{profile: 1c.3g.40gb, count: 1}]"), HasSubstr("give 3g.40gb"));
  EXPECT_THAT(message("leases: [{profile: 1c.3g.40gb, from_s: 0, for_s: 1}]"), HasSubstr("give 3g.40gb"));
  EXPECT_THAT(message("jobs: [{times_s: {1c.3g.40gb: 1}}]"), HasSubstr("give 3g.40gb"));
  EXPECT_THAT(message(count + "points: {rule: queueing}"), HasSubstr("points: there are no services"));
  EXPECT_THAT(message("goal: touched\njobs: [{times_s: {1: 1}}]"), HasSubstr("goal: it is about demand and services"));
  for (const std::string key : {"quantile: 0.9", "variability: 2", "time_margin: 2"})
    EXPECT_THAT(message(service + "{table: t.csv, rule: saturated, " + key + "}"), HasSubstr("only the rule queueing"));
  EXPECT_THAT(message(service + "{without_suspect: true}"), HasSubstr("only a table"));
  EXPECT_THAT(message(service + "{time_margin: 0.5}"), HasSubstr("time_margin: expected from 1 to 1000, found 0.5"));
  EXPECT_THAT(message("demand: [{memory: 0GiB, count: 1}]"), HasSubstr("more than nothing"));
  EXPECT_THAT(message("jobs: [{times_s: {1: 1}, memory: 0GiB}]"), HasSubstr("more than nothing"));
}

TEST(DemandFile, NamesTellApart) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n"));
  const auto message = [&](const std::string& text) {
    const auto demand = read_demand("version: v1\n" + text + "\n", "d", fleet->fleet);
    return demand ? "accepted" : demand.error().message;
  };
  for (const std::string what : {"demand: [{profile: 1g.10gb, count: 1, name: ", "jobs: [{times_s: {1: 1}, name: ",
                                 "services: [{model: m, rate_per_s: 1, limit_ms: 9, name: ",
                                 "leases: [{profile: 1g.10gb, from_s: 0, for_s: 1, name: "})
    EXPECT_THAT(message(what + "\"\"}]"), HasSubstr("name: expected a name")) << what;
  EXPECT_THAT(message("jobs: [{times_s: {1: 1}, name: a}, {times_s: {2: 1}, name: a}]"), HasSubstr("called \"a\""));
  EXPECT_THAT(message("jobs: [{times_s: {1: 1}, name: a, count: 2}, {times_s: {2: 1}, name: a-2}]"),
              HasSubstr("called \"a-2\""));
  EXPECT_THAT(message("leases: [{profile: 1g.10gb, from_s: 0, for_s: 1, name: a},"
                      " {profile: 1g.20gb, from_s: 5, for_s: 1, name: a}]"),
              HasSubstr("another lease is called \"a\""));
}

TEST(DemandFile, WhatHasNoNameGetsOneOfItsOwn) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n"));
  const auto demand = read_demand(
      "version: v1\n"
      "jobs: [{times_s: {1: 1}, name: job-2}, {times_s: {2: 1}}, {times_s: {1: 3}, count: 2, name: job-4}, {times_s: "
      "{1: 3}, count: 2}]\n"
      "leases: [{profile: 1g.10gb, from_s: 0, for_s: 1}, {profile: 1g.10gb, from_s: 5, for_s: 1}]\n",
      "d", fleet->fleet);
  ASSERT_TRUE(demand) << demand.error().message;
  std::vector<std::string> jobs, leases;
  for (const auto& job : demand->batch.jobs) jobs.push_back(job.name);
  for (const auto& lease : demand->leases) leases.push_back(lease.name);
  EXPECT_THAT(jobs, testing::ElementsAre("job-2", "job-2-2", "job-4-1", "job-4-2", "job-5-1", "job-5-2"));
  EXPECT_THAT(leases, testing::ElementsAre("1g.10gb", "1g.10gb-2"));
}

TEST(DemandFile, RefusesContradictionsAndNonsense) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n"));
  ASSERT_TRUE(fleet);
  const auto message = [&](const std::string& text) {
    const auto demand = read_demand("version: v1\n" + text, "demand.yaml", fleet->fleet);
    return demand ? "accepted" : demand.error().message;
  };
  EXPECT_THAT(message("demand: []\n"), HasSubstr("found nothing"));
  EXPECT_THAT(message("demand: [{profile: 3g.40gb, count: 1}, {profile: 3g.40gb, count: 2}]\n"), HasSubstr("already"));
  EXPECT_THAT(message("demand: [{profile: 3g.4gb, count: 1}]\n"), HasSubstr("3g.40gb"));
  EXPECT_THAT(message("demand: [{profile: 3g.40gb, count: -1}]\n"), HasSubstr("demand[0].count"));
  EXPECT_THAT(message("demand: [{profile: 3g.40gb, compute: 1, count: 1}]\n"), HasSubstr("either"));
  EXPECT_THAT(message("demand: [{memory: 500GiB, count: 1}]\n"), HasSubstr("ask for less"));
  EXPECT_THAT(message("demand: [{profile: 1g.10gb, count: 1, boards: [a30-24gb]}]\n"), HasSubstr("has no"));
  EXPECT_THAT(message("services: [{model: bert, rate_per_s: 1, limit_ms: 0}]\n"), HasSubstr("above 0"));
  EXPECT_THAT(message("goal: best\ndemand: [{profile: 1g.10gb, count: 1}]\n"), HasSubstr("touched"));
}

TEST(DemandFile, SaysThatAJobsMemoryRulesOutItsSizes) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n")).value().fleet;
  const auto message = [&](const std::string& job) {
    const auto demand = read_demand("version: v1\njobs: [{times_s: " + job + "}]\n", "d", fleet);
    return demand ? "accepted" : demand.error().message;
  };
  EXPECT_THAT(message("{1: 5, 2: 3}, memory: 70GiB"), HasSubstr("has so much memory"));
  EXPECT_THAT(message("{1: 5, 7: 3}, memory: 70GiB"), "accepted");
  EXPECT_THAT(message("{5: 3}, memory: 1GiB"), HasSubstr("found none"));
}

TEST(Deadline, NamesTheJobThatNoGpuHelps) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: 1}\n")).value().fleet;
  const auto message = [&](const std::string& text) {
    const auto demand = read_demand("version: v1\n" + text, "d", fleet).value();
    std::vector<ReconfigureTime> times(fleet.kinds[0].board->profiles.size(), {1, 1});
    const auto checked = check_deadline(room_beside(fleet, nullptr), demand.batch, {times});
    return checked ? "accepted" : checked.error().message;
  };
  EXPECT_EQ(message("batch: {deadline_s: 51}\njobs: [{name: a, times_s: {1: 90, 7: 50}}]\n"), "accepted");
  EXPECT_THAT(message("batch: {deadline_s: 50}\njobs: [{name: a, times_s: {1: 90, 7: 50}}]\n"),
              HasSubstr("job a ends at 51.0 s"));
  EXPECT_THAT(message("batch: {deadline_s: 50}\njobs: [{name: a, times_s: {1: 9}, release_s: 45}]\n"),
              HasSubstr("job a ends at 54.0 s"));
}

TEST(Shortage, SaysTheCeilingOfAnOpenFleet) {
  const auto fleet = read(groups("  - {board: h100-sxm5-80gb, nodes: open}\n")).value().fleet;
  const auto demand = read_demand("version: v1\ndemand: [{profile: 7g.80gb, count: 10000001}]\n", "d", fleet).value();
  const auto plan = solve(fleet, demand.demand);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("more than the 10000000 GPUs"));
}

// Prices far apart: what an earlier quantity allows is not lost by rounding in the next.
TEST(Solve, FindsThePlanWhateverThePrices) {
  for (const auto* dear : {"10", "10000", "100000"}) {
    const auto fleet =
        read(groups(fmt::format(
                 "  - {{board: h100-sxm5-80gb, nodes: 3, gpus_per_node: 1, price: 2.4999, holds: [{{profile: 1g.10gb, "
                 "start: 3}}]}}\n"
                 "  - {{board: a100-sxm4-40gb, nodes: 2, gpus_per_node: 1, price: {}, holds: [{{profile: 3g.20gb, "
                 "start: 4}}]}}\n"
                 "  - {{board: a30-24gb, nodes: 2, gpus_per_node: 1, price: 2.5, holds: [{{profile: 4g.24gb, "
                 "start: 0}}]}}\n",
                 dear)))
            .value()
            .fleet;
    const auto demand = read_demand(
                            "version: v1\ndemand: [{compute: 2, memory: 15GiB, count: 1}, {compute: 4, memory: 9GiB, "
                            "count: 4}]\n",
                            "d", fleet)
                            .value()
                            .demand;
    const auto plan = solve(fleet, demand);
    ASSERT_TRUE(plan) << dear << ": " << plan.error().message;
    EXPECT_TRUE(validate(fleet, demand, *plan));
    EXPECT_NEAR(plan->levels.at(0).value, 9.9997, 1e-9);
    EXPECT_EQ(plan->levels.at(1).value, 3);
    EXPECT_EQ(plan->levels.at(2).value, 18);
    EXPECT_TRUE(plan->optimal());
  }
}

// However little is asked for, one instance serves it.
TEST(Solve, ServesTheFaintestRate) {
  const auto fleet = read(groups("  - {board: a100-sxm4-40gb, nodes: open}\n  - {board: a30-24gb, nodes: 2}\n"))->fleet;
  for (const double rate : {1e-12, 1e-9, 1e-6, 0.01, 1.0})
    for (const bool two : {false, true}) {
      Demand demand{{{"faint", rate, {{0, 0, 200}}}}, Goal::cost};
      if (two) demand.wants[0].servers.push_back({1, 0, 3});
      const auto plan = solve(fleet, demand);
      ASSERT_TRUE(plan) << rate << ": " << plan.error().message;
      EXPECT_TRUE(validate(fleet, demand, *plan)) << rate;
      EXPECT_EQ(plan->levels.front().value, 1) << rate;
      EXPECT_TRUE(plan->optimal()) << rate;
    }
}

TEST(Shortage, CountsOneAsOne) {
  const auto fleet =
      read(groups("  - {board: a30-24gb, nodes: 1, gpus_per_node: 1, holds: [{profile: 2g.12gb, start: 0, "
                  "pinned: true}]}\n"))
          .value()
          .fleet;
  const auto demand = read_demand("version: v1\ndemand: [{profile: 4g.24gb, count: 1}]\n", "d", fleet).value();
  const auto plan = solve(fleet, demand.demand);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "the demand does not fit on the fleet's 1 GPU");
  EXPECT_EQ(plan.error().details.back(), "it would fit if the pinned instance were gone");
}

TEST(Solve, SaysThatTheClockEndedIt) {
  const auto fleet = read(groups("  - {board: a30-24gb, nodes: 2}\n")).value().fleet;
  const auto demand = read_demand("version: v1\ndemand: [{profile: 2g.12gb, count: 3}]\n", "d", fleet).value();
  SolveOptions options;
  options.limits.stop = [] { return true; };
  const auto plan = solve(fleet, demand.demand, options);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("the clock ended"));
}

TEST(Nodes, HandOutEveryGpuOnceAndWriteMigParted) {
  const auto fleet = read(groups("  - {board: a100-sxm4-80gb, nodes: 3, gpus_per_node: 4}\n"));
  ASSERT_TRUE(fleet);
  const auto demand = read_demand("version: v1\ndemand: [{profile: 3g.40gb, count: 9}, {profile: 1g.10gb, count: 9}]\n",
                                  "d", fleet->fleet);
  ASSERT_TRUE(demand);
  const auto plan = solve(fleet->fleet, demand->demand);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(validate(fleet->fleet, demand->demand, *plan));
  const auto nodes = spread(*fleet, *plan);
  std::vector<std::int64_t> seen(plan->groups.size());
  std::int64_t count = 0;
  for (const auto& node : nodes) {
    count += node.nodes;
    ASSERT_EQ(node.gpus.size(), 4U);
    for (const int group : node.gpus) {
      ASSERT_GE(group, 0);
      seen[static_cast<std::size_t>(group)] += node.nodes;
    }
  }
  EXPECT_EQ(count, 3);
  for (std::size_t g = 0; g < seen.size(); ++g) EXPECT_EQ(seen[g], plan->groups[g].count);
  const auto files = mig_parted_files(*fleet, *plan, nodes);
  ASSERT_EQ(files.size(), 1U);
  const auto again = layout::read_mig_parted(layout::write_mig_parted(files[0].file), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->labels.size(), nodes.size());
}

TEST(Nodes, OpenGroupsHaveAsManyNodesAsAreNeeded) {
  const auto fleet = read(groups("  - {board: a100-sxm4-80gb, nodes: open}\n"));
  ASSERT_TRUE(fleet);
  const auto demand = read_demand("version: v1\ndemand: [{profile: 7g.80gb, count: 9}]\n", "d", fleet->fleet);
  ASSERT_TRUE(demand);
  const auto plan = solve(fleet->fleet, demand->demand);
  ASSERT_TRUE(plan);
  const auto nodes = spread(*fleet, *plan);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[1].gpus[0], 0);
  EXPECT_EQ(nodes[1].gpus[1], -1);
}

}  // namespace
}  // namespace partita::fleet
