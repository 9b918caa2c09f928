#include "predict/dataset.h"

#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/dataset_columns.h"

namespace partita::predict {
namespace {

using ::testing::ElementsAre;
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
  EXPECT_THAT(message(head + "a,b,c,1,fast,,\n"), HasSubstr("column latency_ms: expected a number, found \"fast\""));
  EXPECT_THAT(message(head + "a,b,c,1,1,fp31,\n"), HasSubstr("expected fp32, tf32, fp16, bf16, int8, fp8, found"));
  EXPECT_THAT(message(head + "a,b,c,1,1,,2\n"), HasSubstr("neighbours"));
  EXPECT_THAT(message(head), HasSubstr("no rows"));
  EXPECT_THAT(message("board,profile,workload,batch,speed\na,b,c,1,1\n"),
              HasSubstr("no column tells a time or memory"));
  EXPECT_THAT(message("board,profile,batch,latency_ms\na,b,1,1\n"), HasSubstr("no column tells the workload"));
  auto unit = read("board,workload,latency\na,c,1\n");
  ASSERT_FALSE(unit);
  EXPECT_THAT(unit.error().details, ::testing::ElementsAre(HasSubstr("its unit is not told: latency_ms")));
}

TEST(Dataset, RowsWithoutAFigureAreLeftOutNotWrong) {
  auto set = read(
      "board,profile,workload,batch,latency_ms,status\n"
      "a,b,c,1,nan,ok\na,b,c,1,0,\na,b,c,,1,ok\na,b,c,1,,failed\na,b,c,1,,OOM\na,b,c,1,oom,\na,b,c,1,2,success\n");
  ASSERT_TRUE(set) << set.error().message;
  std::vector<std::string> why;
  for (const Measurement& m : set->rows) why.push_back(m.out_of_memory ? "memory" : m.left_out);
  EXPECT_THAT(why, ::testing::ElementsAre("nothing measured", "nothing measured", "no batch given", "not run", "memory",
                                          "memory", ""));
}

TEST(Dataset, ColumnsAreKnownUnderTheirUsualNamesAndInTheirUnits) {
  for (auto [header, name, scale] :
       std::vector<std::tuple<const char*, const char*, double>>{{"Latency (ms)", "latency_ms", 1},
                                                                 {"latency_s", "latency_ms", 1000},
                                                                 {"step time [us]", "latency_ms", 1e-3},
                                                                 {"Images/sec", "throughput", 1},
                                                                 {"throughput (samples/s)", "throughput", 1},
                                                                 {"Throughput", "throughput", 1},
                                                                 {"fb_used_mb", "memory_mib", 1},
                                                                 {"Peak memory GiB", "memory_mib", 1024},
                                                                 {"Batch Size", "batch", 1},
                                                                 {"seq_len", "sequence", 1},
                                                                 {"Model", "workload", 1},
                                                                 {"GPU", "board", 1},
                                                                 {"gpc_slices", "profile", 1},
                                                                 {"dtype", "precision", 1}}) {
    auto known = known_column(header);
    ASSERT_TRUE(known) << header;
    EXPECT_EQ(known->name, name) << header;
    EXPECT_NEAR(known->scale, scale, 1e-12) << header;
  }
  for (const char* header : {"latency", "memory", "colour", "", "p99_ms", "tokens/s"}) {
    EXPECT_FALSE(known_column(header)) << header;
  }
}

TEST(Dataset, PrecisionHoldsForBothProductsAndDefaultsFillWhatIsEmpty) {
  auto table = parse_csv("model,latency_s,precision,conv,bs\nc,0.5,amp,,4\nc,0.25,,fp32,\n", "x.csv");
  ASSERT_TRUE(table);
  EXPECT_THAT(read_measurements(*table, "x").error().message, HasSubstr("no column tells the board"));
  auto set = read_measurements(*table, "x", {{"board", "a30"}, {"batch", "2"}});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->rows[0].settings.matmul, Precision::fp16);
  EXPECT_EQ(set->rows[0].settings.convolution, Precision::fp16);
  EXPECT_DOUBLE_EQ(*set->rows[0].step_ms, 500);
  EXPECT_EQ(set->rows[1].settings.convolution, Precision::fp32);
  EXPECT_EQ(set->rows[1].settings.matmul, Precision::tf32);
  EXPECT_EQ(set->rows[1].settings.batch, 2);
  EXPECT_EQ(set->rows[1].profile, "whole");
  EXPECT_EQ(read_default("gpu = A30")->first, "board");
  EXPECT_THAT(read_default("bord=a30").error().message, HasSubstr("did you mean board"));
  EXPECT_THAT(read_default("board").error().message, HasSubstr("expected COLUMN=VALUE"));
}

TEST(Dataset, AUsersMappingKeepsTheColumnsItDoesNotName) {
  auto mapping = read_own_mapping(
      "columns: {workload: arch, latency_s: t}\n"
      "rules:\n  - {set: {framework: graph}}\n  - {when: {gpcs: \"3\", kind2: x}, set: {board: a30}}\n",
      "m.yaml");
  ASSERT_TRUE(mapping) << mapping.error().message;
  auto table = parse_csv("gpu,gpcs,arch,t,bs,kind2\na100,3,r,2,8,x\na100,7,r,1,8,y\n", "x.csv");
  auto mapped = apply_mapping(*mapping, *table);
  ASSERT_TRUE(mapped) << mapped.error().message;
  auto set = read_measurements(*mapped, "x");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->rows[0].board, "a30");
  EXPECT_EQ(set->rows[1].board, "a100");
  EXPECT_EQ(set->rows[1].profile, "7");
  EXPECT_EQ(set->rows[1].settings.framework, Framework::graph);
  EXPECT_DOUBLE_EQ(*set->rows[0].step_ms, 2000);
  EXPECT_TRUE(set->unused_columns.empty());
  EXPECT_THAT(read_own_mapping("columns: {latensy_ms: t}\n", "m.yaml").error().message, HasSubstr("m.yaml:1"));
  EXPECT_THAT(read_own_mapping("columns: {latensy_ms: t}\n", "m.yaml").error().message,
              HasSubstr("did you mean latency_ms"));
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

TEST(Dataset, ATimeAndAThroughputThatAreNotOfOneRunAreSaid) {
  auto table = parse_csv(
      "board,profile,workload,batch,processes,latency_ms,throughput\na,7g,resnet50,8,1,4,2000\na,7g,resnet50,8,1,4,3\n"
      "a,7g,resnet50,8,3,4,5900\na,7g,resnet50,8,1,4,2600\n",
      "mine.csv");
  ASSERT_TRUE(table);
  auto set = read_measurements(*table, "mine");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_THAT(set->assumed, ElementsAre("1 row: throughput is not batch over latency (line 3): the throughput counts"));
  EXPECT_FALSE(set->rows[0].contradictory);
  EXPECT_TRUE(set->rows[1].contradictory);
}

TEST(Dataset, ShippedSetsAreReadAndNameTheirSources) {
  auto sets = shipped_datasets();
  ASSERT_TRUE(sets) << sets.error().message;
  ASSERT_EQ(sets->size(), 3u);
  for (const DataSet& set : *sets) {
    EXPECT_TRUE(std::ranges::none_of(set.rows, &Measurement::contradictory)) << set.name;
  }
  for (const DataSet& set : *sets) {
    EXPECT_THAT(set.source, HasSubstr("source: github")) << set.name;
    EXPECT_GT(set.rows.size(), 40u) << set.name;
  }
}

}  // namespace
}  // namespace partita::predict
