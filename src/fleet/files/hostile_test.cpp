// Files that contradict themselves, are too large, or are made to hurt: one clear error each, soon.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "fleet/exact/solve.h"
#include "fleet/exact/test_instances.h"
#include "fleet/files/demand_file.h"
#include "fleet/files/fleet_file.h"
#include "fleet/services/services.h"

namespace partita::fleet {
namespace {

using testing::HasSubstr;

std::string fleet_error(const std::string& text) {
  static catalog::Catalog catalog = catalog::Catalog::open().value();
  FleetFile file;
  const auto read = read_fleet(text, "fleet.yaml", catalog, file);
  return read ? "accepted" : read.error().message;
}

Fleet one_a100() { return {{{"a100", test::board("a100-sxm4-80gb"), {}, 1}}}; }

std::string demand_error(const std::string& text) {
  const auto read = read_demand(text, "demand.yaml", one_a100());
  return read ? "accepted" : read.error().message;
}

// A text of `times` equal lines after a head.
std::string lines(std::string head, const std::string& line, int times) {
  head.reserve(head.size() + (line.size() * static_cast<std::size_t>(times)));
  for (int i = 0; i < times; ++i) head += line;
  return head;
}

constexpr int kMillion = 1'000'000;

TEST(Hostile, NumbersBeyond64BitsAreRefused) {
  for (const std::string number : {"18446744073709551616", "9223372036854775808", "-9223372036854775809",
                                   "99999999999999999999999999999999999999", "1e400", "nan", ".inf", "0x1p70"}) {
    EXPECT_THAT(fleet_error("version: v1\nfleet: [{board: a30-24gb, nodes: " + number + "}]\n"),
                HasSubstr("fleet.yaml:2: fleet[0].nodes"))
        << number;
    EXPECT_THAT(demand_error("version: v1\ndemand: [{profile: 1g.10gb, count: " + number + "}]\n"),
                HasSubstr("demand.yaml:2: demand[0].count"))
        << number;
    EXPECT_THAT(demand_error("version: v1\njobs: [{times_s: {1: 5}, count: " + number + "}]\n"),
                HasSubstr("demand.yaml:2: jobs[0].count"))
        << number;
    EXPECT_THAT(demand_error("version: v1\nleases: [{profile: 1g.10gb, from_s: 0, for_s: 1, count: " + number + "}]\n"),
                HasSubstr("demand.yaml:2: leases[0].count"))
        << number;
  }
  for (const std::string number : {"1e400", "nan", ".inf", "-1e400", "1e300"}) {
    EXPECT_THAT(fleet_error("version: v1\nfleet: [{board: a30-24gb, nodes: 1, price: " + number + "}]\n"),
                HasSubstr("fleet.yaml:2: fleet[0].price"))
        << number;
    EXPECT_THAT(demand_error("version: v1\nservices: [{model: bert, rate_per_s: " + number + ", limit_ms: 9}]\n"),
                HasSubstr("demand.yaml:2: services[0].rate_per_s"))
        << number;
    EXPECT_THAT(demand_error("version: v1\njobs: [{times_s: {1: " + number + "}}]\n"),
                HasSubstr("demand.yaml:2: jobs[0].times_s"))
        << number;
    EXPECT_THAT(demand_error("version: v1\nleases: [{profile: 1g.10gb, from_s: " + number + ", for_s: 1}]\n"),
                HasSubstr("demand.yaml:2: leases[0].from_s"))
        << number;
  }
}

TEST(Hostile, YamlMadeToHurtIsRefused) {
  const std::string bomb =
      "version: v1\na: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
      "c: [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n";
  const std::string deep = "version: v1\nfleet: " + std::string(100'000, '[') + "\n";
  const std::string maps = lines("version: v1\ndemand: ", "{a: ", 100'000);
  for (const auto& text : {bomb, deep, maps, std::string("version: v1\nfleet: !!python/object:os.system []\n"),
                           std::string("version: v1\nversion: v1\nfleet: []\n"), std::string("\xff\xfe\x00"),
                           std::string("version: v1\n---\nversion: v1\n"), std::string("{"), std::string("")}) {
    EXPECT_THAT(fleet_error(text), HasSubstr("fleet.yaml")) << text.substr(0, 60);
    EXPECT_THAT(demand_error(text), HasSubstr("demand.yaml")) << text.substr(0, 60);
  }
}

TEST(Hostile, FilesOfAMillionLinesAreRefusedOrRead) {
  EXPECT_THAT(fleet_error(lines("version: v1\nfleet:\n", "  - {board: a30-24gb, nodes: 1}\n", kMillion)),
              HasSubstr("fleet.yaml"));
  EXPECT_THAT(demand_error(lines("version: v1\ndemand:\n", "  - {profile: 1g.10gb, count: 1}\n", kMillion)),
              HasSubstr("demand.yaml"));
  EXPECT_THAT(demand_error(lines("version: v1\njobs:\n", "  - x\n", kMillion)), HasSubstr("demand.yaml"));
  EXPECT_EQ(demand_error(lines("version: v1\ndemand: [{profile: 1g.10gb, count: 1}]\n", "# a remark\n", kMillion)),
            "accepted");
  const auto points = read_points(
      lines("model,compute_slices,batch,processes,per_s,latency_ms\n", "m,1,1,1,1,1\n", kMillion), "points.csv", false);
  EXPECT_TRUE(points.has_value() ? points->size() == kMillion : points.error().message.find("points.csv") == 0);
}

TEST(Hostile, FleetsWithoutGpusAndUnknownBoardsAreRefused) {
  EXPECT_THAT(fleet_error("version: v1\nfleet: []\n"), HasSubstr("found none"));
  EXPECT_THAT(fleet_error("version: v1\n"), HasSubstr("fleet"));
  EXPECT_THAT(fleet_error("version: v1\nfleet: [{name: x, nodes: 1, gpus: []}]\n"),
              HasSubstr("expected at least one GPU, found none"));
  EXPECT_THAT(fleet_error("version: v1\nfleet: [{board: a30-24g, nodes: 1}]\n"), HasSubstr("did you mean a30-24gb"));
  EXPECT_THAT(fleet_error("version: v1\nfleet: [{board: '', nodes: 1}]\n"), HasSubstr("fleet.yaml:2"));
  EXPECT_THAT(fleet_error("version: v1\nfleet: [{board: a30-24gb, nodes: 1, gpus_per_node: 0}]\n"),
              HasSubstr("fleet[0].gpus_per_node"));
  EXPECT_THAT(fleet_error(R"({"node": "n", "gpus": []})"), HasSubstr("fleet.yaml"));
  EXPECT_THAT(fleet_error(R"({"node": "n", "gpus": [{"board": null, "fault": null, "gpu_instances": []}]})"),
              HasSubstr("fleet.yaml"));
  // Every GPU is pinned full: nothing is wrong with the file, and nothing fits.
  auto full = one_a100();
  const auto seven = full.kinds[0].board->profiles.size();
  for (std::size_t p = 0; p < seven; ++p)
    if (full.kinds[0].board->profiles[p].name == "7g.80gb") full.kinds[0].state = {{{static_cast<int>(p), 0}, true}};
  const auto demand = read_demand("version: v1\ndemand: [{profile: 1g.10gb, count: 1}]\n", "demand.yaml", full).value();
  const auto plan = solve(full, demand.demand);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::no_space);
}

TEST(Hostile, DemandsThatContradictThemselvesAreRefused) {
  const auto with = [](const std::string& text) { return demand_error("version: v1\n" + text + "\n"); };
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, count: 1, name: a}, {profile: 2g.20gb, count: 1, name: a}]"),
              HasSubstr("\"a\" is there already"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, memory: 40GiB, count: 1}]"), HasSubstr("either profile, or"));
  EXPECT_THAT(with("demand: [{compute: 9, count: 1}]"), HasSubstr("ask for less"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, count: 0}]"), HasSubstr("demand[0].count"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, count: 1, boards: []}]"), HasSubstr("demand[0].boards"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb}]"), HasSubstr("count"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, count: 1, limit_ms: 5}]"), HasSubstr("limit_ms"));
  EXPECT_THAT(with("services: [{model: m, rate_per_s: 1, limit_ms: 9}, {model: m, rate_per_s: 2, limit_ms: 9}]"),
              HasSubstr("is there already"));
  EXPECT_THAT(with("jobs: [{times_s: {1: 5}, workload: resnet50}]"), HasSubstr("either times_s, or"));
  EXPECT_THAT(with("jobs: [{times_s: {}}]"), HasSubstr("jobs[0].times_s"));
  EXPECT_THAT(with("jobs: [{times_s: {1: 5}, release_s: -1}]"), HasSubstr("jobs[0].release_s"));
  EXPECT_THAT(with("leases: [{profile: 1g.10gb, from_s: -1, for_s: 5}]"), HasSubstr("leases[0].from_s"));
  EXPECT_THAT(with("leases: [{profile: 1g.10gb, from_s: 1, for_s: 0}]"), HasSubstr("leases[0].for_s"));
  EXPECT_THAT(with("demand: [{profile: 1g.10gb, count: 1}]\nbatch: {deadline_s: 5}"), HasSubstr("no jobs"));
  EXPECT_THAT(with("points: {rule: queueing}"), HasSubstr("found nothing"));
  EXPECT_THAT(with("services: [{model: m, rate_per_s: 1, limit_ms: 9}]\npoints: {quantile: 1}"), HasSubstr("quantile"));
}

// Fleets of many kinds and groups are read in a time that grows with their number only.
TEST(Hostile, ManyKindsOfGpuAreReadSoon) {
  std::string text = "version: v1\nfleet:\n";
  constexpr int kKinds = 50'000;
  for (int i = 0; i < kKinds; ++i)
    text += fmt::format("  - {{name: n{}, board: a30-24gb, nodes: 2, gpus_per_node: 1, price: {:.4f}}}\n", i,
                        1 + (i % (kKinds - 1)) / 10'000.0);
  catalog::Catalog catalog = catalog::Catalog::open().value();
  FleetFile file;
  const auto begin = std::clock();
  ASSERT_TRUE(read_fleet(text, "fleet.yaml", catalog, file));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 5) << "seconds of processor";
  EXPECT_EQ(file.groups.size(), kKinds);
  ASSERT_EQ(file.fleet.kinds.size(), kKinds - 1);  // the first and the last are alike
  EXPECT_EQ(file.fleet.kinds.front().count, 4);
  EXPECT_EQ(file.groups.back().kinds, std::vector{0});
  // A second file goes on where the first ended.
  ASSERT_TRUE(read_fleet("version: v1\nfleet: [{name: x, board: a30-24gb, nodes: 1, gpus_per_node: 3}]", "more.yaml",
                         catalog, file));
  EXPECT_EQ(file.fleet.kinds.size(), kKinds - 1);
  EXPECT_EQ(file.fleet.kinds.front().count, 7);
  const auto twice =
      read_fleet("version: v1\nfleet: [{name: n7, board: a30-24gb, nodes: 1}]", "twice.yaml", catalog, file);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("another group is called"));
}

TEST(Hostile, MoreServicesThanAPlanHasLinesAreRefusedAtOnce) {
  std::string text = "version: v1\ndemand: [{profile: 1g.10gb, count: 1}]\nservices:\n";
  for (int i = 0; i < 4096; ++i) text += fmt::format("  - {{name: s{}, model: m, rate_per_s: 1, limit_ms: 9}}\n", i);
  EXPECT_EQ(demand_error(text),
            "demand.yaml:3: services: expected at most 4096 lines of demand and services, found 4097");
}

// Which limit, and the nearest that could be met: the limit named is then accepted.
TEST(Hostile, ImpossibleLatenciesNameTheLimitAndTheNearest) {
  const std::vector<ServicePoint> points{{"m", "", 1, 8, 1, 100, 80}, {"m", "", 7, 1, 1, 90, 11}};
  for (const auto kind : {ServiceRule::Kind::queueing, ServiceRule::Kind::saturated}) {
    ServiceRule rule;
    rule.kind = kind;
    const auto refused = choices(points, {"web", "m", 1, 3}, rule);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::impossible);
    EXPECT_THAT(refused.error().message, HasSubstr("service web: nothing meets its latency limit of 3 ms"));
    EXPECT_THAT(refused.error().message, HasSubstr("11 ms per batch (7g, batch 1, 1 process)"));
    const auto& hint = refused.error().details.at(0);
    const double nearest = std::stod(hint.substr(std::string("a limit of ").size()));
    EXPECT_TRUE(choices(points, {"web", "m", 1, nearest}, rule)) << hint;
  }
}

}  // namespace
}  // namespace partita::fleet
