// What the worker takes and what it says, without libtorch.
#include <gmock/gmock.h>

#include <map>

#include "resnet/intervals.h"
#include "resnet/options.h"
#include "study/provider.h"

namespace partita::resnet {
namespace {

using testing::HasSubstr;

Result<Options> read(const std::vector<std::string>& words, const std::map<std::string, std::string>& variables = {}) {
  return read_options(words, [&](const std::string& key) -> std::optional<std::string> {
    const auto at = variables.find(key);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  });
}

std::string error_of(const std::vector<std::string>& words, const std::map<std::string, std::string>& variables = {}) {
  const auto options = read(words, variables);
  return options ? "none" : options.error().message;
}

TEST(Options, GoBeforeTheEnvironment) {
  const std::map<std::string, std::string> tenant = {{"PARTITA_WORKLOAD", "resnet18"},
                                                     {"PARTITA_MODE", "training"},
                                                     {"PARTITA_BATCH", "32"},
                                                     {"PARTITA_SECONDS", "2.5"}};
  const auto given = read({}, tenant);
  ASSERT_TRUE(given.has_value()) << given.error().message;
  EXPECT_EQ(given->job.model, Model::resnet18);
  EXPECT_EQ(given->job.mode, Mode::training);
  EXPECT_EQ(given->job.batch, 32);
  EXPECT_EQ(given->seconds, 2.5);
  const auto asked = read({"--model", "tiny", "--batch=4", "--precision", "bf16", "--threads", "2"}, tenant);
  ASSERT_TRUE(asked.has_value()) << asked.error().message;
  EXPECT_EQ(asked->job.model, Model::tiny);
  EXPECT_EQ(asked->job.mode, Mode::training);
  EXPECT_EQ(asked->job.batch, 4);
  EXPECT_EQ(asked->job.precision, Precision::bf16);
  EXPECT_EQ(asked->job.threads, 2);
}

TEST(Options, WrongOnesAreNamed) {
  EXPECT_EQ(error_of({"--model", "resnet5"}),
            "--model: expected resnet18, resnet50, tiny, found \"resnet5\"; did you mean resnet50 or resnet18?");
  EXPECT_EQ(error_of({}, {{"PARTITA_WORKLOAD", "vgg16"}}),
            "PARTITA_WORKLOAD: expected resnet18, resnet50, tiny, found \"vgg16\"");
  EXPECT_EQ(error_of({"--batch", "0"}), "--batch: expected a number from 1 to 65536, found \"0\"");
  EXPECT_THAT(error_of({"--batch", "8x"}), HasSubstr("found \"8x\""));
  EXPECT_THAT(error_of({"--seconds", "nan"}), HasSubstr("expected a number"));
  EXPECT_THAT(error_of({"--seconds", "-1"}), HasSubstr("expected a number"));
  EXPECT_EQ(error_of({"--batch"}), "--batch: a value is missing");
  EXPECT_THAT(error_of({"--bach", "3"}), HasSubstr("did you mean --batch"));
  EXPECT_THAT(error_of({"resnet50"}), HasSubstr("unknown option \"resnet50\""));
  EXPECT_THAT(error_of({"--mode", "training", "--precision", "fp16"}), HasSubstr("use bf16"));
  EXPECT_TRUE(read({"--nonsense", "--help"}).error().message.starts_with("unknown option"));
  EXPECT_TRUE(read({"--help"}).value().help);
}

TEST(Intervals, AreLinesThatAStudyReads) {
  Intervals intervals(1);
  EXPECT_TRUE(intervals.empty());
  EXPECT_FALSE(intervals.add(0.4, 8, 400));
  EXPECT_TRUE(intervals.add(1.2, 8, 800));
  EXPECT_DOUBLE_EQ(intervals.rate(1.2), 16 / 1.2);
  const auto line = study::read_worker_line(intervals.line(1.2));
  ASSERT_TRUE(line.has_value()) << line.error().message;
  EXPECT_DOUBLE_EQ(line->t_s, 1.2);
  EXPECT_DOUBLE_EQ(line->samples, 16);
  EXPECT_THAT(line->latency_ms, testing::ElementsAre(400, 800));
  EXPECT_TRUE(intervals.empty());
  EXPECT_FALSE(intervals.add(2.1, 8, 900));
  EXPECT_EQ(study::read_worker_line(intervals.line(2.1))->samples, 8);
}

TEST(Intervals, StayShortHoweverFastTheStepsAre) {
  Intervals intervals(1000);
  for (int i = 0; i < 100'000; ++i) intervals.add(i * 1e-3, 1, i);
  const auto line = study::read_worker_line(intervals.line(100));
  ASSERT_TRUE(line.has_value()) << line.error().message;
  EXPECT_EQ(line->samples, 100'000);
  EXPECT_LE(line->latency_ms.size(), 10'000u);
  EXPECT_GT(line->latency_ms.size(), 5'000u);
  // Evenly over the whole interval.
  EXPECT_NEAR(line->latency_ms[line->latency_ms.size() / 2], 50'000, 200);
}

TEST(Lines, TellDeviceAndErrorAsText) {
  const auto first = study::read_worker_line(first_line("CPU, 2 threads", "a \"b\" \\ \n"));
  ASSERT_TRUE(first.has_value()) << first.error().message;
  EXPECT_EQ(first->device, "CPU, 2 threads");
  const auto error = study::read_worker_line(error_line(1.25, "out of memory"));
  ASSERT_TRUE(error.has_value()) << error.error().message;
  EXPECT_EQ(error->error, "out of memory");
  EXPECT_DOUBLE_EQ(error->t_s, 1.25);
}

}  // namespace
}  // namespace partita::resnet
