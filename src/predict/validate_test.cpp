#include "predict/validate.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "predict/fit.h"

namespace partita::predict {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

MATCHER_P2(LeftOut, reason, rows, "") { return arg.reason.contains(reason) && arg.rows == rows; }

// Floors: a change that makes predictions worse than these fails here.
class ValidateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = Library::open();
    ASSERT_TRUE(opened) << opened.error().message;
    library_ = new Library(std::move(*opened));
    auto sets = shipped_datasets();
    ASSERT_TRUE(sets) << sets.error().message;
    sets_ = new std::vector<DataSet>(std::move(*sets));
    reports_ = new std::vector<SetReport>;
    for (const DataSet& set : *sets_) {
      auto report = validate(*library_, **shipped_constants(), set);
      ASSERT_TRUE(report) << report.error().message;
      reports_->push_back(std::move(*report));
    }
  }
  static void TearDownTestSuite() {
    delete reports_;
    delete sets_;
    delete library_;
  }

  static const SetReport& report(std::string_view name) {
    return *std::ranges::find(*reports_, name, &SetReport::name);
  }
  static Errors time(std::string_view set, std::string_view name) { return *find(report(set).time, name); }
  static void expect_inside(const Errors& e, double mean, double median, double p90) {
    EXPECT_LE(100 * e.mean, mean) << e.name;
    EXPECT_LE(100 * e.median, median) << e.name;
    EXPECT_LE(100 * e.p90, p90) << e.name;
  }

  static Library* library_;
  static std::vector<DataSet>* sets_;
  static std::vector<SetReport>* reports_;
};
Library* ValidateTest::library_ = nullptr;
std::vector<DataSet>* ValidateTest::sets_ = nullptr;
std::vector<SetReport>* ValidateTest::reports_ = nullptr;

TEST_F(ValidateTest, AllRowsThatShouldCountDo) {
  EXPECT_EQ(time("migperf", "zero-shot").rows, 470);
  EXPECT_EQ(time("parvagpu", "zero-shot").rows, 373);
  EXPECT_GE(time("mlperf", "zero-shot").rows, 40);
}

TEST_F(ValidateTest, TimeIsWithinItsTargets) {
  expect_inside(time("migperf", "zero-shot"), 5, 5, 11);
  expect_inside(time("parvagpu", "zero-shot"), 11, 8, 25);
  expect_inside(time("parvagpu", "one point"), 8, 5, 16);
  expect_inside(time("parvagpu", "three points"), 5.5, 3.5, 13);
}

TEST_F(ValidateTest, RatiosAreWithinTheirTargetsAndHalfOfTheBestNaiveRule) {
  for (auto [set, mean] : {std::pair{"migperf", 5.0}, {"parvagpu", 8.0}, {"mlperf", 4.5}}) {
    const SetReport& r = report(set);
    double best = 1;
    for (const char* rule : {"SM share", "memory share", "max of both shares"})
      best = std::min(best, find(r.ratio, rule)->mean);
    EXPECT_LE(100 * find(r.ratio, "model")->mean, mean) << set;
    EXPECT_LE(find(r.ratio, "model")->mean, set == std::string("mlperf") ? best : best / 2) << set;
  }
  ASSERT_TRUE(report("parvagpu").four_over_three);
  EXPECT_GE(report("parvagpu").four_over_three->first, 1.05);
  EXPECT_LE(report("parvagpu").four_over_three->first, 1.20);
}

TEST_F(ValidateTest, TwoPointsWithoutAnArchitectureAreWithinTheirTarget) {
  EXPECT_LE(100 * report("migperf").two_points.front().mean, 7);
  EXPECT_LE(100 * report("parvagpu").two_points.front().mean, 7);
}

TEST_F(ValidateTest, MemoryIsWithinItsTarget) {
  const SetReport& r = report("migperf");
  EXPECT_LE(100 * find(r.memory, "all")->mean, 5);
  EXPECT_LE(100 * find(r.memory, "all")->p90, 12);
  EXPECT_GE(100.0 * r.fit_right, 98.0 * r.fit_answers);
  EXPECT_GT(r.fit_answers, 400);
}

TEST_F(ValidateTest, IntervalsHoldWhatTheyState) {
  for (const SetReport& r : *reports_) {
    for (const char* name : {"zero-shot", "one point", "three points"}) {
      const Errors* e = find(r.time, name);
      ASSERT_NE(e, nullptr);
      EXPECT_GE(*e->inside, 0.85 - 0.001) << r.name << " " << name;
      EXPECT_LE(*e->inside, 0.95 + 0.001) << r.name << " " << name;
    }
    for (const Errors& e : r.two_points) {
      EXPECT_GE(*e.inside, 0.85) << r.name << " " << e.name;
      EXPECT_LE(*e.inside, 0.95) << r.name << " " << e.name;
    }
  }
}

TEST_F(ValidateTest, RowsLeftOutAreNamedAndPredicted) {
  const SetReport& r = report("migperf");
  EXPECT_THAT(r.skipped, Contains(LeftOut("sequences shorter than the label", 16)));
  EXPECT_GE(r.left_out.size(), 14u);
  EXPECT_GT(r.left_out.front().predicted, 0);
  EXPECT_EQ(r.worst.size(), 10u);
  EXPECT_GE(r.worst[0].error, r.worst[9].error);
}

TEST_F(ValidateTest, AFitGivesTheShippedConstants) {
  auto again = fit(*library_, sets_->front());
  ASSERT_TRUE(again) << again.error().message;
  const Constants& shipped = **shipped_constants();
  for (const KeyInfo& info : key_table()) {
    double allowed = info.fitted ? 0.02 * shipped[info.key] + 1e-6 : 1e-5 * shipped[info.key];
    EXPECT_NEAR(again->constants[info.key], shipped[info.key], allowed) << info.name << ": run `partita predict fit`";
  }
  ASSERT_EQ(again->constants.hosts.size(), shipped.hosts.size());
  EXPECT_NEAR(again->constants.hosts[1].launch_factor, shipped.hosts[1].launch_factor, 0.02);
}

TEST_F(ValidateTest, ThePageHoldsTheseTables) {
  std::ifstream file(PARTITA_SOURCE_DIR "/docs/prediction.md");
  std::string found((std::istreambuf_iterator<char>(file)), {});
  std::istringstream made(prediction_page(*reports_, **shipped_constants()));
  int lines = 0, missing = 0;
  for (std::string line; std::getline(made, line); ++lines) missing += found.find(line) == std::string::npos;
  EXPECT_LE(missing, lines / 50)
      << "docs/prediction.md is old: run `partita predict validate --page docs/prediction.md`";
}

TEST_F(ValidateTest, OwnRowsOfUnknownNetworksAreNamedNotGuessed) {
  auto table = parse_csv(
      "board,profile,workload,batch,latency_ms\na100-sxm4-80gb,3g.40gb,mynet,8,10\na100-sxm4-80gb,3g.40gb,resnet50,8,"
      "9\n",
      "mine.csv");
  auto set = read_measurements(*table, "mine");
  ASSERT_TRUE(set);
  auto r = validate(*library_, **shipped_constants(), *set);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->rows, 1);
  EXPECT_THAT(r->skipped, Contains(LeftOut("no workload \"mynet\" is shipped", 1)));

  table = parse_csv("board,profile,workload,batch,latency_ms\na100-sxm4-80gb,9g.40gb,resnet50,8,10\n", "mine.csv");
  auto wrong = validate(*library_, **shipped_constants(), *read_measurements(*table, "mine"));
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, ::testing::HasSubstr("mine, line 2"));
  DataSet few{"few", "few", "", {sets_->front().rows.begin(), sets_->front().rows.begin() + 10}, {}, {}};
  EXPECT_THAT(fit(*library_, few).error().message, ::testing::HasSubstr("needs at least"));
}

TEST_F(ValidateTest, ForeignNamesAreFoundAndWhatIsUnknownIsCounted) {
  auto table = parse_csv(
      "GPU,MIG profile,Model,Batch Size,Task,dtype,Latency [s],img/s,colour\n"
      "NVIDIA A100-SXM4-40GB,3g,ResNet-50,32,train,float16,0.08,,red\n"
      "A100,1g.10gb,resnet_50,8,infer,tf32,,400,\n"
      "A100,MIG 2g.20gb,ResNet50,8,infer,tf32,0.02,,\n"
      "A100,7g,resnet50,8,infer,tf32,0.01,,\n"
      "B30A,1g,resnet50,8,infer,tf32,0.01,,\n"
      "A30,1g.6gb,mynet,8,infer,tf32,0.01,,\n"
      "rtx-6000d,1g.42gb,resnet50,8,infer,int8,0.01,,\n"
      "A30,4g.24gb,vit_b_16,8,infer,tf32,OOM,,\n",
      "theirs.csv");
  ASSERT_TRUE(table) << table.error().message;
  auto set = read_measurements(*table, "theirs");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->unused_columns, ElementsAre("colour"));
  auto r = validate(*library_, **shipped_constants(), *set);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->rows, 2) << "lines 2 and 4";
  EXPECT_THAT(r->skipped, Contains(LeftOut("board \"A100\" may be", 2)));
  EXPECT_THAT(r->skipped, Contains(LeftOut("no board is called \"B30A\"", 1)));
  EXPECT_THAT(r->skipped, Contains(LeftOut("no workload \"mynet\" is shipped", 1)));
  EXPECT_THAT(r->skipped, Contains(LeftOut("board rtx-6000d", 1)));
  EXPECT_THAT(r->assumed, Contains(HasSubstr("board \"A100\" is a100-sxm4-80gb")));
  EXPECT_EQ(r->fit_answers + r->fit_uncertain, 1);
  std::string text = to_markdown({*r});
  EXPECT_THAT(text, HasSubstr("- 2 rows not used: board \"A100\" may be"));
  EXPECT_THAT(text, HasSubstr("(lines 3, 5)"));
  EXPECT_THAT(text, HasSubstr("Columns not used: colour."));
  EXPECT_THAT(text, HasSubstr("resnet50 training on 3g.20gb, batch 32 | 2 |"));
}

TEST_F(ValidateTest, AnUnknownNetworkIsToldByTwoOfItsPoints) {
  auto table = parse_csv(
      "board,profile,workload,batch,latency_ms\na100-sxm4-80gb,7g.80gb,mynet,8,10\na100-sxm4-80gb,3g.40gb,mynet,8,20\n"
      "a100-sxm4-80gb,1g.10gb,mynet,8,60\n",
      "mine.csv");
  auto r = validate(*library_, **shipped_constants(), *read_measurements(*table, "mine"));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->rows, 0);
  ASSERT_EQ(r->two_points.size(), 1u);
  EXPECT_EQ(r->two_points.front().rows, 1);
}

TEST_F(ValidateTest, TheUsersOwnWorkloadFilesCount) {
  auto library = Library::open();
  ASSERT_TRUE(library);
  const std::string file =
      "title: Tiny\nname: tiny\ninput: {image: [3, 32, 32]}\nlayers:\n  - conv: {out: 64, kernel: 3}\n";
  ASSERT_TRUE(library->add(file, "tiny.yaml"));
  EXPECT_THAT(library->add(file, "again.yaml").error().message, HasSubstr("was given before"));
  EXPECT_THAT(library->add("title: [", "bad.yaml").error().message, HasSubstr("bad.yaml:"));
  auto table = parse_csv("board,workload,latency_ms\na30,tiny,1\n", "mine.csv");
  auto r = validate(*library, **shipped_constants(), *read_measurements(*table, "mine"));
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->rows, 1);
  EXPECT_THAT(r->assumed, Contains(HasSubstr("whole GPU")));
  EXPECT_THAT(r->assumed, Contains(HasSubstr("batch: 1")));
}

}  // namespace
}  // namespace partita::predict
