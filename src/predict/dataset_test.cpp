#include "predict/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace partita::predict {
namespace {

using ::testing::HasSubstr;

Result<DataSet> read(std::string_view text) {
  auto table = parse_csv(text, "mine.csv");
  if (!table) return std::unexpected(table.error());
  return read_measurements(*table, "mine");
}

std::string message(std::string_view text) {
  auto set = read(text);
  return set ? std::string("no error") : set.error().message;
}

TEST(Dataset, ReadsTheDocumentedFormatWithDefaults) {
  auto set = read(
      "# measured on a Tuesday\n"
      "board,profile,workload,batch,latency_ms,throughput,devices,processes,not_run,mode\n"
      "a100-sxm4-80gb,3g.40gb,resnet50,32,10,,,,,\n"
      "a100-sxm4-80gb,1g.10gb,resnet50,8,,2000,4,2,,training\n"
      "a100-sxm4-80gb,1g.10gb,resnet50,512,,,,,memory,\n");
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->rows.size(), 3u);
  EXPECT_EQ(set->source, "measured on a Tuesday");
  EXPECT_DOUBLE_EQ(*set->rows[0].throughput, 3200);
  EXPECT_EQ(set->rows[0].settings.matmul, Precision::tf32);
  EXPECT_DOUBLE_EQ(*set->rows[1].throughput, 500) << "of one of four devices";
  EXPECT_DOUBLE_EQ(*set->rows[1].step_ms, 32) << "two processes with 8 samples each";
  EXPECT_EQ(set->rows[1].settings.mode, Mode::training);
  EXPECT_TRUE(set->rows[2].out_of_memory);
  EXPECT_FALSE(set->rows[2].throughput);
  EXPECT_EQ(set->rows[2].line, 5);
}

TEST(Dataset, WrongCellsNameFileLineAndColumn) {
  const std::string head = "board,profile,workload,batch,latency_ms,matmul,neighbours\n";
  EXPECT_THAT(message(head + "a,b,c,0,1,,\n"), HasSubstr("mine.csv:2: batch: expected a number from 1"));
  EXPECT_THAT(message(head + "a,b,c,1.5,1,,\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(message(head + "a,b,c,1,-3,,\n"), HasSubstr("latency_ms"));
  EXPECT_THAT(message(head + "a,b,c,1,nan,,\n"), HasSubstr("latency_ms"));
  EXPECT_THAT(message(head + "a,b,c,1,1,fp31,\n"), HasSubstr("expected fp32, tf32"));
  EXPECT_THAT(message(head + "a,b,c,1,1,,2\n"), HasSubstr("neighbours"));
  EXPECT_THAT(message(head + "a,,c,1,1,,\n"), HasSubstr("profile: expected a name"));
  EXPECT_THAT(message(head + "a,b,c,,1,,\n"), HasSubstr("batch"));
  EXPECT_THAT(message(head + "a,b,c,1,,,\n"), HasSubstr("expected a latency, throughput or memory"));
  EXPECT_THAT(message("board,profile,workload,batch,speed\na,b,c,1,1\n"), HasSubstr("no column is called 'speed'"));
  EXPECT_THAT(message("board,profile,batch,latency_ms\na,b,1,1\n"), HasSubstr("workload"));
}

TEST(Dataset, AMappingRenamesColumnsAndAppliesRulesInOrder) {
  auto mappings = read_mappings(R"(datasets:
  - name: lab
    title: "A lab"
    file: lab.csv
    columns: {workload: net, batch: bs, throughput: ips}
    rules:
      - {set: {board: a100-sxm4-80gb, profile: 7g.80gb}}
      - {when: {gpcs: ["1", "2"]}, set: {profile: 1g.10gb}}
      - {when: {gpcs: "2"}, set: {profile: 2g.20gb}}
      - {when: {net: junk}, drop: true}
)",
                                "m.yaml");
  ASSERT_TRUE(mappings) << mappings.error().message;
  auto table =
      parse_csv("net,gpcs,bs,ips\nresnet50,7,8,100\nresnet50,2,8,30\njunk,1,8,1\nresnet50,1,8,20\n", "lab.csv");
  ASSERT_TRUE(table);
  auto mapped = apply_mapping(mappings->front(), *table);
  ASSERT_TRUE(mapped) << mapped.error().message;
  auto set = read_measurements(*mapped, "lab");
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->rows.size(), 3u);
  EXPECT_EQ(set->rows[0].profile, "7g.80gb");
  EXPECT_EQ(set->rows[1].profile, "2g.20gb");
  EXPECT_EQ(set->rows[2].profile, "1g.10gb");
  EXPECT_EQ(set->rows[2].line, 5);

  auto other = parse_csv("net,gpcs,ips\nresnet50,7,100\n", "lab.csv");
  ASSERT_TRUE(other);
  auto missing = apply_mapping(mappings->front(), *other);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("bs"));
}

TEST(Dataset, ShippedSetsAreReadAndNameTheirSources) {
  auto sets = shipped_datasets();
  ASSERT_TRUE(sets) << sets.error().message;
  ASSERT_EQ(sets->size(), 3u);
  for (const DataSet& set : *sets) {
    EXPECT_THAT(set.source, HasSubstr("source: github")) << set.name;
    EXPECT_GT(set.rows.size(), 40u) << set.name;
  }
}

}  // namespace
}  // namespace partita::predict
