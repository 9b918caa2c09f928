#include "predict/table.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/cases.h"

namespace partita::predict {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Library::open();
    ASSERT_TRUE(opened) << opened.error().message;
    library_.emplace(std::move(*opened));
  }

  Result<Table> make(const std::string& board, const TableQuery& query, const Settings& settings = {}) {
    return predict_table(**shipped_constants(), **library_->workload("resnet50", std::nullopt), settings,
                         **library_->board(board), query);
  }

  std::optional<Library> library_;
};

TEST_F(TableTest, HoldsEachSizeOnceFromSmallToLarge) {
  TableQuery query;
  query.batches = {64, 1, 64};
  query.whole_gpu = true;
  auto table = make("a100-sxm4-80gb", query);
  ASSERT_TRUE(table) << table.error().message;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table->rows.size(); i += 2) names.push_back(table->rows[i].name);
  EXPECT_THAT(names, ElementsAre("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", "whole GPU"));
  EXPECT_THAT(table->batches, ElementsAre(1, 64));
  EXPECT_EQ(table->unit, "images");
}

TEST_F(TableTest, TheSmallestThatMeetsANeedAndWhatTheOthersLack) {
  TableQuery query;
  query.batches = {1, 8, 64};
  auto table = make("a100-sxm4-80gb", query);
  ASSERT_TRUE(table);
  auto choice = smallest_that_meets(*table, {.throughput = 1000, .latency_ms = {}, .share = {}});
  ASSERT_TRUE(choice);
  ASSERT_TRUE(choice->row);
  EXPECT_EQ(table->rows[*choice->row].name, "3g.40gb");
  EXPECT_THAT(choice->rejected, SizeIs(3));
  EXPECT_THAT(choice->rejected, Each(HasSubstr("of 1000")));

  auto light = smallest_that_meets(*table, {.throughput = {}, .latency_ms = 50, .share = 0.9});
  ASSERT_TRUE(light && light->row);
  EXPECT_THAT(light->larger, HasSubstr("would not help"));

  auto never = smallest_that_meets(*table, {.throughput = 1e6, .latency_ms = {}, .share = {}});
  ASSERT_TRUE(never);
  EXPECT_FALSE(never->row);
  EXPECT_THAT(never->rejected, SizeIs(6));
}

TEST_F(TableTest, WhyALargerOneWouldNotHelpIsTrue) {
  const std::map<Bound, std::string> words{{Bound::host, "host's launches bound"},
                                           {Bound::copy, "copy of the input bounds"},
                                           {Bound::compute, "multiprocessors bound"},
                                           {Bound::bandwidth, "memory bandwidth bounds"}};
  int without_help = 0;
  for (const char* board : {"a100-sxm4-40gb", "a100-sxm4-80gb", "a30-24gb", "h100-sxm5-80gb", "b200-180gb"}) {
    for (int batch : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) {
      TableQuery query;
      query.batches = {batch};
      auto table = make(board, query);
      ASSERT_TRUE(table);
      auto choice = smallest_that_meets(*table, {.throughput = 1, .latency_ms = {}, .share = {}});
      ASSERT_TRUE(choice && choice->row);
      if (!choice->larger.starts_with("a larger partition would not help")) continue;
      ++without_help;
      for (std::size_t i = *choice->row; i < table->rows.size(); ++i) {
        EXPECT_LT(table->rows[i].prediction.throughput.median,
                  1.1 * table->rows[*choice->row].prediction.throughput.median)
            << board << " batch " << batch << ": " << table->rows[i].name << ", but " << choice->larger;
      }
      const auto& here = table->rows[*choice->row].prediction;
      EXPECT_TRUE(std::ranges::any_of(table->rows,
                                      [&](const TableRow& row) {
                                        return choice->larger.contains(row.name) &&
                                               choice->larger.contains(words.at(row.prediction.bound));
                                      }))
          << board << " batch " << batch << ": " << choice->larger;
      double hosts = here.share[static_cast<std::size_t>(Bound::host)];
      if (hosts > 0.5) {
        EXPECT_THAT(choice->larger, HasSubstr("host")) << board << " batch " << batch;
      }
    }
  }
  EXPECT_GE(without_help, 5) << "else nothing was looked at";
}

// 3g.20gb at batch 8: 4g.20gb gives little more, 7g.40gb much.
TEST_F(TableTest, ALargerOneThatHelpsIsNamedAlsoBehindOneThatDoesNot) {
  TableQuery query;
  query.batches = {8};
  auto table = make("a100-sxm4-40gb", query);
  ASSERT_TRUE(table);
  auto choice = smallest_that_meets(*table, {.throughput = 1000, .latency_ms = {}, .share = {}});
  ASSERT_TRUE(choice && choice->row);
  EXPECT_EQ(table->rows[*choice->row].name, "3g.20gb");
  EXPECT_THAT(choice->larger, HasSubstr("7g.40gb would give 1.6 times"));
}

TEST_F(TableTest, ANeedThatIsMetByTheMedianOnlyIsSaidToBeUncertain) {
  TableQuery query;
  query.batches = {8};
  auto table = make("a100-sxm4-40gb", query);
  ASSERT_TRUE(table);
  auto choice = smallest_that_meets(*table, {.throughput = 1000, .latency_ms = 8, .share = {}});
  ASSERT_TRUE(choice && choice->row);
  ASSERT_EQ(table->rows[*choice->row].name, "3g.20gb");
  EXPECT_THAT(choice->doubts,
              ElementsAre(HasSubstr("begins at 856.8"), HasSubstr("ends at"), HasSubstr("certain: 7g.40gb")));
  EXPECT_THAT(smallest_that_meets(*table, {.throughput = 800, .latency_ms = {}, .share = {}})->doubts, IsEmpty());
  EXPECT_THAT(smallest_that_meets(*table, {.throughput = 1600, .latency_ms = {}, .share = {}})->doubts,
              ElementsAre(HasSubstr("begins at"), HasSubstr("no profile")));

  table->rows.front().prediction.fit = Fit::uncertain;
  EXPECT_THAT(smallest_that_meets(*table, {.throughput = 1, .latency_ms = {}, .share = {}})->doubts,
              ElementsAre(HasSubstr("memory"), HasSubstr("certain: 1g.10gb")));
}

TEST_F(TableTest, WrongNeedsAreErrors) {
  auto table = make("a100-sxm4-80gb", {});
  ASSERT_TRUE(table);
  EXPECT_THAT(smallest_that_meets(*table, {.throughput = -1, .latency_ms = {}, .share = {}}).error().message,
              HasSubstr("throughput"));
  EXPECT_THAT(smallest_that_meets(*table, {.throughput = {}, .latency_ms = {}, .share = 1.5}).error().message,
              HasSubstr("expected 0 to 1"));
  TableQuery none;
  none.batches.clear();
  EXPECT_THAT(make("a100-sxm4-80gb", none).error().message, HasSubstr("at least one batch"));
}

TEST_F(TableTest, KneesGrowWithThePartitionAndRespectMemory) {
  TableQuery query;
  query.batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  Settings training;
  training.mode = Mode::training;
  auto table = make("a100-sxm4-40gb", query, training);
  ASSERT_TRUE(table);
  std::vector<Knee> found = knees(*table);
  ASSERT_GE(found.size(), 5u);
  EXPECT_LT(*found.front().largest_batch, *found.back().largest_batch);
  for (const Knee& knee : found) {
    ASSERT_TRUE(knee.batch) << knee.name;
    EXPECT_LE(*knee.batch, *knee.largest_batch) << knee.name;
    EXPECT_GE(knee.throughput, 0.9 * knee.best_throughput) << knee.name;
  }
}

TEST_F(TableTest, EveryBoardCanBePredictedAndOnlyA100IsNoExtrapolation) {
  auto catalog = catalog::Catalog::open();
  ASSERT_TRUE(catalog);
  for (const catalog::BoardEntry& entry : catalog->boards()) {
    Settings fp32;
    fp32.matmul = fp32.convolution = Precision::fp32;
    auto table = make(entry.id, {}, fp32);
    ASSERT_TRUE(table) << table.error().message;
    for (const TableRow& row : table->rows) {
      EXPECT_EQ(row.prediction.extrapolated, !entry.id.starts_with("a100") && !entry.id.starts_with("a800"))
          << entry.id;
      bool estimated =
          row.partition.profile && !table->board->profiles[static_cast<std::size_t>(*row.partition.profile)].sm;
      bool said = std::ranges::any_of(row.prediction.notes, [](const std::string& note) {
        return note.contains("number of multiprocessors estimated");
      });
      EXPECT_EQ(said, estimated) << entry.id << " " << row.name;
    }
    if (entry.id == "rtx-6000d") continue;  // its tensor rates are not known
    EXPECT_TRUE(make(entry.id, {})) << entry.id;
  }
}

TEST_F(TableTest, ComputeInstancesComeWhenAsked) {
  TableQuery query;
  query.compute_instances = true;
  auto table = make("a100-sxm4-80gb", query);
  ASSERT_TRUE(table);
  EXPECT_TRUE(std::ranges::any_of(table->rows, [](const TableRow& row) { return row.name == "1c.3g.40gb"; }));
}

}  // namespace
}  // namespace partita::predict
