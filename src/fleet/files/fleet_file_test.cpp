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
  EXPECT_THAT(mig_to_turn_on(*file, {}, {}, {0}).at(0).gpus, ElementsAre(2));
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
