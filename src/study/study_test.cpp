// Shipped studies: each runs, says what its numbers say, and says the same for the same seed. Wrong ones are refused.
#include "study/runner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/yaml.h"
#include "study/words.h"

namespace partita::study {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Study : public testing::Test {
 protected:
  Result<report::Report> run(std::string_view text, const StudyOptions& options = {}) {
    SilentProgress progress;
    return run_study(text, "own.yaml", catalog_, options, progress);
  }
  report::Report shipped(std::string_view name, const StudyOptions& options = {}) {
    SilentProgress progress;
    auto report = run_shipped_study(name, catalog_, options, progress);
    EXPECT_TRUE(report.has_value()) << name << ": " << (report ? "" : report.error().message);
    return report ? std::move(*report) : report::Report{};
  }
  std::string refused(std::string_view text) {
    const auto report = run(text);
    EXPECT_FALSE(report.has_value());
    return report ? "" : report.error().message;
  }
  catalog::Catalog catalog_ = std::move(*catalog::Catalog::open());
};

std::string words(const report::Report& report) {
  std::string all;
  for (const std::string& line : report.answer) all += line + "\n";
  return all;
}

const report::Table& table(const report::Report& report, std::string_view title) {
  for (const auto& section : report.sections)
    for (const auto& part : section.parts)
      if (const auto* t = std::get_if<report::Table>(&part); t && t->title.find(title) != std::string::npos) return *t;
  throw std::runtime_error("no table " + std::string(title));
}

const report::Figure& figure(const report::Report& report, std::string_view title) {
  for (const auto& section : report.sections)
    for (const auto& part : section.parts)
      if (const auto* f = std::get_if<report::Figure>(&part); f && f->title.find(title) != std::string::npos) return *f;
  throw std::runtime_error("no figure " + std::string(title));
}

std::string cell(const report::Table& t, std::string_view row, std::string_view column) {
  const auto at = std::ranges::find(t.columns, column);
  for (const auto& r : t.rows)
    if (r[0] == row && at != t.columns.end()) return r[static_cast<std::size_t>(at - t.columns.begin())];
  throw std::runtime_error(fmt::format("no cell {} / {}", row, column));
}

TEST_F(Study, EachShippedOneRunsInTimeAndIsWellFormed) {
  const auto start = std::chrono::steady_clock::now();
  const auto all = shipped_studies();
  ASSERT_TRUE(all.has_value()) << all.error().message;
  ASSERT_EQ(all->size(), 8u);
  for (const StudyEntry& entry : *all) {
    const auto r = shipped(entry.name);
    EXPECT_EQ(r.title, entry.title);
    EXPECT_FALSE(r.answer.empty()) << entry.name;
    EXPECT_FALSE(r.rests_on.empty()) << entry.name;
    EXPECT_THAT(words(r), testing::ContainsRegex("simulated|predicted")) << entry.name;
    EXPECT_THAT(words(r), Not(testing::ContainsRegex("(^| )-?(nan|inf)[ ,.)]|[0-9]e[+]"))) << entry.name;
    std::size_t parts = 0;
    for (const auto& section : r.sections) {
      for (const auto& part : section.parts) {
        ++parts;
        if (const auto* t = std::get_if<report::Table>(&part)) {
          EXPECT_EQ(t->kinds.size(), t->columns.size()) << entry.name << ' ' << t->title;
          for (const auto& row : t->rows) EXPECT_EQ(row.size(), t->columns.size()) << entry.name << ' ' << t->title;
        } else {
          const auto& f = std::get<report::Figure>(part);
          EXPECT_FALSE(f.series.empty()) << entry.name << ' ' << f.title;
          for (const auto& s : f.series) {
            EXPECT_EQ(s.values.size(), f.x.size()) << entry.name << ' ' << f.title << ' ' << s.name;
            EXPECT_TRUE(s.kind == report::Kind::simulated || s.kind == report::Kind::predicted);
          }
        }
      }
    }
    EXPECT_GE(parts, 2u) << entry.name;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("[   FIGURE ] all shipped studies: %.2f s\n", seconds);
  EXPECT_LT(seconds, 20);
}

TEST_F(Study, SameSeedSameReport) {
  for (const char* name : {"noisy-neighbour", "fifty-six-users"}) {
    const auto once = report::to_json(shipped(name)), again = report::to_json(shipped(name));
    EXPECT_EQ(once, again) << name;
    StudyOptions other;
    other.seed = 2;
    EXPECT_NE(once, report::to_json(shipped(name, other))) << name << ": the seed changes nothing";
  }
}

TEST_F(Study, VirtualisationIsAnInputAndBelowFivePercent) {
  const auto r = shipped("bare-metal-or-virtual");
  EXPECT_THAT(words(r), HasSubstr("below the 5.0 % asked for"));
  EXPECT_THAT(words(r), Not(HasSubstr("NOT below")));
  EXPECT_THAT(r.rests_on, Contains(HasSubstr("input of the model, not a finding")));
  const auto& f = figure(r, "throughput by place");
  const auto& rates = std::ranges::find(f.series, "batch 64", &report::Series::name)->values;
  const double lost = 1 - rates[2]->value / rates[0]->value;
  EXPECT_THAT(words(r), HasSubstr(fmt::format("Virtualisation without MIG: {} lost", percent(lost))));
}

TEST_F(Study, SmallProfilesCannotTrainAtTheReferenceBatch) {
  const auto r = shipped("training-by-profile");
  const auto& t = table(r, "training");
  for (const char* small : {"grid_a100-2-10c", "grid_a100-1-5c"}) {
    EXPECT_EQ(cell(t, small, "fits"), "does not fit");
    EXPECT_THAT(r.answer,
                Contains(AllOf(HasSubstr(fmt::format("{} cannot train at batch 128", small)),
                               HasSubstr("the largest batch that fits is " + cell(t, small, "largest batch")))));
    EXPECT_LT(std::stoi(cell(t, small, "largest batch")), 128);
  }
  for (const char* large : {"grid_a100-7-40c", "grid_a100-4-20c", "grid_a100-3-20c"})
    EXPECT_EQ(cell(t, large, "fits"), "fits");
}

TEST_F(Study, EightLayoutsAndTheBatchThatFills) {
  const auto r = shipped("inference-eight-layouts");
  EXPECT_EQ(table(r, "Layouts at batch 8").rows.size(), 8u);
  for (const char* vgpu : {"grid_a100-7-40c", "grid_a100-4-20c"})
    EXPECT_THAT(r.answer, Contains(AllOf(HasSubstr(vgpu), HasSubstr("is not filled at batch 8"))));
  // The total of 7 x 1g.5gb is seven times one of them.
  const auto& f = figure(r, "all partitions");
  const auto& eight = std::ranges::find(f.series, "batch 8", &report::Series::name)->values;
  EXPECT_NEAR(eight.back()->value, 7 * eight[4]->value, 0.03 * eight.back()->value);
}

TEST_F(Study, MigIsolatesTheQuietTenant) {
  const auto r = shipped("noisy-neighbour");
  const auto& p99 = figure(r, "p99 latency of quiet");
  const auto value = [&](const char* scenario) {
    return p99.series[0].values[static_cast<std::size_t>(std::ranges::find(p99.x, scenario) - p99.x.begin())]->value;
  };
  EXPECT_LT(value("MIG 7 x 1g.5gb"), value("time-slicing"));
  EXPECT_LT(value("MIG-backed vGPU"), value("vGPU best effort"));
  EXPECT_THAT(r.answer, Contains(HasSubstr(fmt::format("Lowest p99: MIG 7 x 1g.5gb with {}",
                                                       milliseconds(value("MIG 7 x 1g.5gb") / 1e3)))));
}

TEST_F(Study, NobodyElseStopsWhileTheLayoutChanges) {
  const auto r = shipped("reconfigure-without-downtime");
  EXPECT_THAT(r.answer[0], HasSubstr("Yes: VM 1, VM 2, VM 3 and VM 4 run on"));
  // Three 1g.5gb go (0.20 s each), one 3g.20gb comes (0.20 s): data/measured/mig_reconfig_times.csv.
  EXPECT_THAT(r.answer, Contains(HasSubstr("takes 0.80 s")));
  const auto& f = figure(r, "throughput over time");
  for (const auto& s : f.series) {
    if (s.name > "VM 4") continue;
    for (const auto& v : s.values) EXPECT_GT(v->value, 0) << s.name;
  }
}

TEST_F(Study, UsersOnMachines) {
  const auto r = shipped("fifty-six-users");
  const auto& t = table(r, "56 users");
  EXPECT_EQ(cell(t, "DGX A100 with 56 x 1g.5gb", "machines needed"), "1");
  EXPECT_EQ(cell(t, "DGX A100 with 56 x 1g.5gb", "greedy ones that break it"), "none do");
  EXPECT_THAT(
      r.answer,
      Contains(AllOf(HasSubstr("DGX Spark time-sliced (extrapolated)"),
                     HasSubstr(cell(t, "DGX Spark time-sliced (extrapolated)", "machines needed") + " machines"))));
  EXPECT_THAT(r.answer, Not(Contains(HasSubstr("DGX A100 with 56 x 1g.5gb (extrapolated)"))));
  EXPECT_THAT(r.rests_on, Contains(HasSubstr("dgx_spark_gb10_llm.csv")));
}

TEST_F(Study, EveryWorkloadGetsAProfile) {
  const auto r = shipped("which-profile");
  EXPECT_EQ(table(r, "profile to take").rows.size(), predict::shipped_workloads().size());
  EXPECT_THAT(r.answer, Contains(HasSubstr("For inference only")));
  for (const auto& row : table(r, "profile to take").rows) EXPECT_NE(row[1], "none") << row[0];
}

TEST_F(Study, WhereMigLosesIsSaid) {
  const auto r = shipped("which-sharing");
  EXPECT_THAT(r.answer[0], HasSubstr("Of 32 cases"));
  EXPECT_THAT(words(r), HasSubstr("MIG's p99 is"));
  EXPECT_THAT(words(r), HasSubstr("MIG reaches"));
}

// --- a user's own ---

constexpr const char* kOwn = R"(
title: Mine
question: Does it hold?
kind: simulation
board: a100-sxm4-40gb
duration_s: 20
warmup_s: 2
tenants: [{{name: a, job: {{workload: resnet50, batch: {batch}}}, arrivals: {{{arrivals}}}, slo_ms: 50}}]
scenarios: [{{name: one, servers: [{servers}]}}]
)";

std::string own(const std::string& arrivals, const std::string& servers = "{profile: 1g.5gb}", int batch = 8) {
  return fmt::format(fmt::runtime(kOwn), fmt::arg("arrivals", arrivals), fmt::arg("servers", servers),
                     fmt::arg("batch", batch));
}

TEST_F(Study, OwnStudyRuns) {
  const auto r = run(own("poisson: 5"));
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_THAT(words(*r), HasSubstr("one: "));
}

// The example of docs/studies.md.
TEST_F(Study, ExampleOfTheDocumentationRuns) {
  std::ifstream file(std::string(PARTITA_SOURCE_DIR) + "/docs/studies.md");
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const auto begin = text.find("```yaml\n"), end = text.find("```\n", begin + 8);
  ASSERT_NE(end, std::string::npos);
  const auto r = run(text.substr(begin + 8, end - begin - 8));
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_THAT(words(*r), HasSubstr("A's p99 stays within its SLO of 30.0 ms under"));
}

TEST_F(Study, OverloadIsSaid) {
  const auto r = run(own("poisson: 5000"));
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_THAT(words(*r), HasSubstr("overload: a asks for more than is there"));
  EXPECT_THAT(words(*r), HasSubstr("unbounded"));
}

constexpr const char* kFocus = R"(
title: Mine
question: Who is fast?
kind: simulation
board: a100-sxm4-40gb
focus: a
duration_s: 20
warmup_s: 2
tenants:
  - {{name: a, job: {{workload: resnet50, batch: {batch}}}, arrivals: {{poisson: {rate}}}, slo_ms: 50}}
  - {{name: b, job: {{workload: resnet50, batch: 8}}, arrivals: {{poisson: 5}}}}
scenarios: [{{name: MIG, servers: [{{profile: 3g.20gb}}, {{profile: 4g.20gb}}]}}, {{name: MPS, servers: [{{sharing: mps}}]}}]
)";

// No comparison of times that are not there, and the reason beside each name.
TEST_F(Study, AFocusThatIsNeverInTimeIsNotRanked) {
  const auto flooded = run(fmt::format(fmt::runtime(kFocus), fmt::arg("batch", 8), fmt::arg("rate", 5000)));
  ASSERT_TRUE(flooded.has_value()) << flooded.error().message;
  EXPECT_THAT(words(*flooded),
              HasSubstr("A's p99 exceeds its SLO of 50.0 ms everywhere: MIG (overload) and MPS (overload)"));
  EXPECT_THAT(words(*flooded), Not(HasSubstr("Lowest p99")));
  const auto large = run(fmt::format(fmt::runtime(kFocus), fmt::arg("batch", 1500), fmt::arg("rate", 0.2)));
  ASSERT_TRUE(large.has_value()) << large.error().message;
  EXPECT_THAT(words(*large), HasSubstr("MIG (not served)"));
}

// A workload file of the user's own, by a path in the study; the same network gives the same figures.
TEST_F(Study, OwnWorkloadFileIsTaken) {
  std::ifstream file(std::string(PARTITA_SOURCE_DIR) + "/data/workloads/resnet50.yaml");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> asked;
  StudyOptions options;
  options.read_file = [&](const std::string& path) -> Result<std::string> {
    asked.push_back(path);
    if (path != "./mine.yaml") return fail(ErrorCode::not_found, "cannot read " + path);
    return text.str();
  };
  const auto with = [](const std::string& workload) {
    return "title: x\nquestion: y\nkind: predictions\njob: {workload: " + workload +
           ", batch: 8}\nplaces: [{board: a100-sxm4-40gb}]\n";
  };
  const auto own = run(with("./mine.yaml"), options), shipped = run(with("resnet50"));
  ASSERT_TRUE(own && shipped) << (own ? "" : own.error().message);
  EXPECT_EQ(own->answer, shipped->answer);
  EXPECT_THAT(asked, testing::ElementsAre("./mine.yaml"));
  const auto missing = run(with("other.yaml"), options);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().message,
              AllOf(HasSubstr("own.yaml:4: job.workload"), HasSubstr("cannot read other.yaml")));
  EXPECT_THAT(refused(with("./mine.yaml")), HasSubstr("workload files are not read here"));
}

TEST_F(Study, NothingAskedIsNoShortLatency) {
  for (const char* arrivals : {"poisson: 0", "none: true", "trace: []"}) {
    const auto r = run(own(arrivals));
    ASSERT_TRUE(r.has_value()) << r.error().message;
    EXPECT_THAT(words(*r), HasSubstr("one: no request is answered")) << arrivals;
    EXPECT_EQ(cell(table(*r, "tenants"), "a", "samples/s"), "no request");
    EXPECT_EQ(cell(table(*r, "tenants"), "a", "p99"), "–");
  }
  EXPECT_THAT(refused(own("poisson: 0") + "focus: a\n"), HasSubstr("focus: a completes no request in one"));
}

TEST_F(Study, WhatNeverEndsIsAnError) {
  StudyOptions options;
  options.most_events = 1000;
  const auto r = run(own("poisson: 1e6"), options);
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message, AllOf(HasSubstr("own.yaml"), HasSubstr("1000 events"), HasSubstr("shorter time")));
}

TEST_F(Study, NoRoomInMemoryIsSaid) {
  const auto r = run(own("poisson: 1", "{profile: 1g.5gb}", 4096));
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_THAT(words(*r), AllOf(HasSubstr("does not fit"), Not(HasSubstr("0 samples/s together"))));
}

TEST_F(Study, WrongFilesAreRefusedWithPlaceAndReason) {
  EXPECT_THAT(refused(own("poisson: 5", "{profile: 9g.99gb}")),
              AllOf(HasSubstr("own.yaml:9"), HasSubstr("no profile")));
  EXPECT_THAT(refused(own("poisson: 5", "{profile: 4g.20gb, count: 2}")),
              AllOf(HasSubstr("own.yaml:9"), HasSubstr("4g.20gb")));
  EXPECT_THAT(refused(own("poisson: 5", "{profile: 1g.5gb}, {sharing: mps}")), HasSubstr("both whole and divided"));
  EXPECT_THAT(refused(own("poisson: -1")), AllOf(HasSubstr("own.yaml:8"), HasSubstr("poisson")));
  EXPECT_THAT(refused(own("poisson: 1e9")), HasSubstr("expected a number from 0 to 1000000, found 1000000000"));
  EXPECT_THAT(refused(own("closed: {clients: 1000000000}")), HasSubstr("found \"1000000000\""));
  EXPECT_THAT(refused(own("every: {ms: 0.01, from_s: 0, to_s: 1e5}")), HasSubstr("at most 10 million requests"));
  EXPECT_THAT(refused(own("trace: [3, 2]")), HasSubstr("tenant a: arrivals.times_s: expected finite, ascending times"));
  EXPECT_THAT(refused(own("trace: [-1]")), HasSubstr("found -1"));
  EXPECT_THAT(refused(own("none: false")), HasSubstr("arrivals.none: expected true"));
  EXPECT_THAT(refused(own("poisson: 5", "{profile: 1g.5gb, color: red}")), HasSubstr("unknown key \"color\""));
  EXPECT_THAT(refused(own("poisson: 5", "{profile: 1g.5gb}", 0)), HasSubstr("job.batch"));
  EXPECT_THAT(refused(own("poisson: 5, closed: {}")), HasSubstr("one kind of arrivals"));
  EXPECT_THAT(refused(own("poisson: 5", "{sharing: magic}")), HasSubstr("vgpu_best_effort"));
  EXPECT_THAT(refused("title: x\nquestion: y\nkind: oracle\n"),
              AllOf(HasSubstr("own.yaml:3"), HasSubstr("simulation")));
  EXPECT_THAT(refused("title: x\nquestion: y\nkind: modes\nbord: a\n"),
              AllOf(HasSubstr("own.yaml:4"), HasSubstr("board")));
  EXPECT_THAT(refused("[]"), HasSubstr("own.yaml"));
  EXPECT_THAT(refused("title: x\nquestion: y\nkind: predictions\njob: {workload: resnet5O}\nplaces: [{board: gb10}]\n"),
              AllOf(HasSubstr("own.yaml:4"), HasSubstr("resnet50")));
  // A precision of which the board has no peak: never a silent number.
  EXPECT_THAT(refused("title: x\nquestion: y\nkind: predictions\njob: {workload: resnet50, convolution: fp8}\n"
                      "places: [{board: gb10}]\n"),
              HasSubstr("board gb10: no peak rate is known for fp8"));
}

TEST_F(Study, ChangesMustBePossible) {
  const std::string head =
      "title: x\nquestion: y\nkind: simulation\nboard: a100-sxm4-40gb\nscenarios:\n- name: s\n  servers: [{name: i, "
      "profile: 1g.5gb, count: 7}]\n  tenants: [{name: a, job: {workload: resnet50}, arrivals: {poisson: 1}}]\n";
  EXPECT_THAT(
      refused(head + "  changes: [{at_s: 5, destroy: [\"i #5\"], create: [{as: \"i #5\", profile: 3g.20gb}]}]\n"),
      AllOf(HasSubstr("own.yaml:9"), HasSubstr("3g.20gb")));
  EXPECT_THAT(
      refused(head + "  changes: [{at_s: 5, destroy: [\"i #9\"], create: [{as: \"i #5\", profile: 1g.5gb}]}]\n"),
      HasSubstr("i #9"));
}

TEST(Shipped, UnknownNameGivesTheNearest) {
  const auto none = shipped_study("noisy-neighbor");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_EQ(none.error().message, "no study \"noisy-neighbor\" is shipped; did you mean noisy-neighbour?");
  EXPECT_THAT(shipped_study("oracle").error().message, HasSubstr("is shipped; there are bare-metal-or-virtual, "));
}

TEST(Words, Numbers) {
  EXPECT_EQ(figure_of(1234.5), "1,230");
  EXPECT_EQ(figure_of(999.9), "1,000");
  EXPECT_EQ(figure_of(12345678), "12,300,000");
  EXPECT_EQ(figure_of(45.678), "45.7");
  EXPECT_EQ(figure_of(0.001234), "0.00123");
  EXPECT_EQ(figure_of(0), "0");
  EXPECT_EQ(milliseconds(INFINITY), "unbounded");
  EXPECT_EQ(percent(0.0434), "4.3 %");
  EXPECT_EQ(capital("grid_a100-7-40c"), "grid_a100-7-40c");
  EXPECT_EQ(sentence("two words"), "Two words.");
  EXPECT_EQ(list_of({"a", "b", "c"}), "a, b and c");
}

}  // namespace
}  // namespace partita::study
