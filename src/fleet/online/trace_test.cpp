#include "fleet/online/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/yaml.h"
#include "fleet/exact/test_instances.h"
#include "fleet/online/policy_file.h"
#include "fleet/online/policy_tune.h"

namespace partita::fleet {
namespace {

using testing::HasSubstr;

const catalog::Board& a100() { return *test::board("a100-sxm4-40gb"); }

Result<Trace> read(const std::string& text, const std::string& columns = "") {
  TraceColumns mapped;
  if (!columns.empty()) mapped = TRY(parse_trace_columns(columns));
  return read_trace(text, "trace.csv", a100(), mapped);
}

std::string error(const std::string& text, const std::string& columns = "") {
  const auto result = read(text, columns);
  return result ? "accepted" : result.error().message;
}

std::string name_of(const Trace& trace, const Request& request) {
  return a100().profiles[static_cast<std::size_t>(trace.profiles[request.profile])].name;
}

TEST(Trace, rows_become_requests_in_the_order_of_arrival) {
  const auto trace = read("arrival,duration,profile\n7,2.5,3g.20gb\n3,1,1g.5gb\n").value();
  ASSERT_EQ(trace.requests.size(), 2U);
  EXPECT_EQ(trace.requests[0].arrival, 3);
  EXPECT_EQ(name_of(trace, trace.requests[0]), "1g.5gb");
  EXPECT_EQ(trace.requests[1].duration, 2.5);
  EXPECT_EQ(name_of(trace, trace.requests[1]), "3g.20gb");
}

TEST(Trace, shares_of_a_gpu_become_the_smallest_profile_that_has_them) {
  const auto name = [](double share) {
    const auto p = profile_for(a100(), share);
    return p ? a100().profiles[static_cast<std::size_t>(*p)].name : "none";
  };
  EXPECT_EQ(name(0.05), "1g.5gb");
  EXPECT_EQ(name(0.125), "1g.5gb");
  EXPECT_EQ(name(0.13), "1g.10gb");
  EXPECT_EQ(name(0.25), "2g.10gb");
  EXPECT_EQ(name(0.32), "3g.20gb");
  EXPECT_EQ(name(0.46), "4g.20gb");
  EXPECT_EQ(name(0.65), "7g.40gb");
  EXPECT_EQ(name(1), "7g.40gb");
  EXPECT_EQ(name(1.1), "none");
}

TEST(Trace, columns_of_other_files_are_mapped) {
  const std::string text =
      "name,num_gpu,gpu_milli,creation_time,deletion_time\n"
      "a,1,250,10,15\nb,0,0,11,12\nc,2,1000,12,20\n";
  const auto trace = read(text, "openb").value();
  EXPECT_EQ(trace.without_gpu, 1U);
  EXPECT_EQ(trace.split, 1U);
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_EQ(name_of(trace, trace.requests[0]), "2g.10gb");
  EXPECT_EQ(trace.requests[0].duration, 5);
  EXPECT_EQ(name_of(trace, trace.requests[2]), "7g.40gb");
}

TEST(Trace, what_is_wrong_is_told_with_its_line_and_column) {
  EXPECT_THAT(error("arrival,duration,profile\n1,,1g.5gb\n"),
              HasSubstr("trace.csv:2: column duration: expected a number, found nothing"));
  EXPECT_THAT(error("arrival,duration,profile\n-1,2,1g.5gb\n"),
              HasSubstr("trace.csv:2: column arrival: expected a number from 0"));
  EXPECT_THAT(error("arrival,duration,profile\n1,-2,1g.5gb\n"), HasSubstr("column duration"));
  EXPECT_THAT(error("arrival,duration,profile\n1,1e300,1g.5gb\n"), HasSubstr("column duration"));
  EXPECT_THAT(error("arrival,duration,profile\n1,nan,1g.5gb\n"), HasSubstr("expected a number"));
  EXPECT_THAT(error("arrival,duration,profile\n1,2,9g.5gb\n"), HasSubstr("trace.csv:2: column profile"));
  EXPECT_THAT(error("arrival,duration\n1,2\n"), HasSubstr("profile"));
  EXPECT_THAT(error("arrival,duration,profile\n"), HasSubstr("found none"));
  EXPECT_THAT(error("a,b,s\n5,3,0.5\n", "arrival=a,end=b,share=s"), HasSubstr("ends at 3, before it arrives at 5"));
  EXPECT_THAT(error("a,b,s\n5,7,1.5\n", "arrival=a,end=b,share=s"), HasSubstr("from 0 to 1, found 1.5"));
  EXPECT_THAT(error("a,b,s\n5,7,0\n", "arrival=a,end=b,share=s"), HasSubstr("above 0"));
  EXPECT_THAT(error("a,b,s,g\n5,7,1,1.5\n", "arrival=a,end=b,share=s,gpus=g"), HasSubstr("whole number"));
  EXPECT_THAT(error("a,b,s,g\n5,7,1,99999\n", "arrival=a,end=b,share=s,gpus=g"), HasSubstr("from 0 to 4096"));
  EXPECT_THAT(error("arrival,duration,profile,movable\n1,2,1g.5gb,maybe\n"), HasSubstr("expected true or false"));
}

TEST(Trace, columns_that_contradict_are_refused) {
  for (const auto* text :
       {"", "arrival", "arrival=", "arrival=a", "arrival=a,end=b", "arrival=a,end=b,duration=c,share=s",
        "arrival=a,end=b,share=s,profile=p", "arrival=a,arrival=b", "when=a", "arrival=a/0,end=b,share=s",
        "arrival=a,end=b,profile=p,gpus=g"})
    EXPECT_FALSE(parse_trace_columns(text)) << text;
}

TEST(Trace, a_million_rows_are_read_in_bounded_memory) {
  std::string text = "arrival,duration,profile,note\n";
  for (int i = 0; i < 1'000'000; ++i) text += std::to_string(i) + ",5,1g.5gb,x\n";
  EXPECT_EQ(read(text).value().requests.size(), 1'000'000U);
}

TEST(PolicyFile, weights_written_are_read_again) {
  const Features features(test::board("a30-24gb"));
  Potential potential;
  for (std::size_t i = 0; i < features.names().size(); ++i) potential.weights.push_back(0.25 * static_cast<double>(i));
  const auto text = write_weights(features, potential, "a test: \"quoted\"\nand two lines");
  EXPECT_EQ(read_weights(text, "w.yaml", features).value().weights, potential.weights);
}

TEST(PolicyFile, all_boards_have_shipped_weights) {
  auto catalog = catalog::Catalog::open().value();
  for (const auto& entry : catalog.boards()) {
    const auto board = catalog.board(entry.id).value();
    if (board->has_mig()) {
      EXPECT_TRUE(shipped_weights(Features(board))) << entry.id;
    }
  }
}

TEST(PolicyFile, what_is_wrong_is_told) {
  const Features small(test::board("rtx-pro-4500"));
  const auto wrong = [&](const std::string& text) {
    const auto result = read_weights(text, "w.yaml", small);
    return result ? "accepted" : result.error().message;
  };
  const Features large(test::board("a100-sxm4-40gb"));
  const Potential none{std::vector<double>(large.names().size())};
  EXPECT_THAT(wrong(write_weights(large, none, "x")), HasSubstr("is no feature of this board"));
  EXPECT_THAT(wrong("version: v1\nweights: {instances: 1}\n"), HasSubstr("expected a weight for \"compute\""));
  EXPECT_THAT(wrong("version: v2\nweights: {instances: 1}\n"), HasSubstr("version"));
  EXPECT_THAT(wrong("version: v1\nweights: {instances: 1e9}\n"), HasSubstr("from -1000000"));
  EXPECT_THAT(wrong("version: v1\nweights: [1]\n"), HasSubstr("weights"));
}

// The schema that people's editors use has the keys that are read, and the features that every board has.
TEST(PolicyFile, schema_has_the_keys_that_are_read) {
  const auto text = read_file(PARTITA_SOURCE_DIR "/data/schemas/weights.schema.json").value();
  const auto schema = parse_yaml(text, "weights.schema.json").value();
  const auto& properties = *schema.root.find("properties");
  const auto features = Features(test::board("rtx-pro-4500"));
  std::string keys = "version: v1\nweights: {}\n";
  for (const auto& [key, of] : properties.members)
    if (key != "version" && key != "weights") keys += key + ": x\n";
  EXPECT_THAT(read_weights(keys, "w.yaml", features).error().message, HasSubstr("expected a weight"));
  EXPECT_THAT(read_weights(keys + "other: x\n", "w.yaml", features).error().message, HasSubstr("other"));
  for (const auto& name : properties.find("weights")->find("required")->items)
    EXPECT_THAT(features.names(), testing::Contains(name.text));
}

TEST(Tune, weights_get_better_and_repeat) {
  const auto board = test::board("a100-sxm4-40gb");
  std::vector<int> plain;
  for (std::size_t p = 0; p < board->profiles.size(); ++p)
    if (board->profiles[p].attributes == catalog::Attributes{}) plain.push_back(static_cast<int>(p));
  const auto states = GpuStates::of(board, plain).value();
  const Features features(board);
  TuneCases cases;
  cases.mixes.push_back({std::vector<double>(plain.size(), 1.0), 1.0, 20, 0});
  TuneOptions options;
  options.generations = 12;
  options.samples = 12;
  options.requests = 3000;
  options.start = Potential{std::vector<double>(features.names().size(), 0.0)};
  const auto tuned = tune(states, features, cases, options);
  EXPECT_EQ(tuned.weights.weights, tune(states, features, cases, options).weights.weights);
  const auto trace = make_trace(states, cases.mixes[0], 30'000, 77);
  RunOptions run_options;
  run_options.gpus = 20;
  const auto score = [&](const Potential& weights) {
    return accepted(states, run(states, Scores(states, {Rule::potential, weights}), trace, run_options)).mean();
  };
  EXPECT_GT(score(tuned.weights), score(*options.start) + 0.01);
  EXPECT_FALSE(tuned.kept_start);
}

// What is told is what serving the trace gives, and never less than the start gives.
TEST(Tune, a_trace_is_never_served_worse_than_at_the_start) {
  const auto board = test::board("a100-sxm4-40gb");
  const auto states = GpuStates::of(board, {0, 3, 4}).value();
  const Features features(board);
  const auto trace = make_trace(states, {{1, 1, 1}, 1.1, 3, 0}, 300, 5);
  TuneOptions options;
  options.generations = 2;
  options.samples = 4;
  options.spread = 30;
  options.start = shipped_weights(features).value();
  bool kept = false;
  for (options.seed = 1; options.seed < 9; ++options.seed) {
    const auto tuned = tune(states, features, {{}, {{trace, 3, 0}}}, options);
    const auto served =
        accepted(states, run(states, Scores(states, {Rule::potential, tuned.weights}), trace, {.gpus = 3}));
    EXPECT_EQ(tuned.accepted.requests, served.requests);
    EXPECT_EQ(tuned.accepted.slices, served.slices);
    EXPECT_GE(tuned.accepted.mean(), tuned.at_start.mean());
    EXPECT_EQ(tuned.kept_start, tuned.weights.weights == options.start->weights);
    kept = kept || tuned.kept_start;
  }
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace partita::fleet
