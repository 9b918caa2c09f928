#include "emulator/programs/arguments.h"

#include <gmock/gmock.h>

namespace partita::emulator::programs {
namespace {

using testing::ElementsAre;

TEST(Arguments, WithoutAnyTheTableIsMeant) { EXPECT_EQ(parse_arguments({})->action, Action::overview); }

TEST(Arguments, ValuesFollowOrStandBehindAnEqualsSign) {
  for (const auto& words :
       {std::vector<std::string>{"--query-gpu=index,name", "--format=csv,noheader,nounits", "--id=0,3"},
        {"--id", "0, 3", "--format", "csv,noheader,nounits", "--query-gpu", "index,name"}}) {
    const auto arguments = parse_arguments(words);
    ASSERT_TRUE(arguments);
    EXPECT_EQ(arguments->action, Action::query_gpu);
    EXPECT_THAT(arguments->values, ElementsAre("index", "name"));
    EXPECT_THAT(arguments->gpus, ElementsAre("0", "3"));
    EXPECT_FALSE(arguments->header || arguments->units);
  }
}

TEST(Arguments, SectionsAreKnownKinds) {
  const auto arguments = parse_arguments({"-q", "-d", "MEMORY, PIDS"});
  ASSERT_TRUE(arguments);
  EXPECT_THAT(arguments->sections, ElementsAre("fb_memory_usage", "bar1_memory_usage", "processes"));
  EXPECT_THAT(parse_arguments({"-q", "-d", "FOO"}).error().message, testing::HasSubstr("Unknown display type: FOO"));
}

TEST(Arguments, MigTakesShortAndLongNames) {
  const auto created = parse_arguments({"mig", "-i", "0", "-cgi", "9,3g.20gb:4", "-C"});
  ASSERT_TRUE(created);
  EXPECT_EQ(created->action, Action::create_gpu);
  EXPECT_THAT(created->values, ElementsAre("9", "3g.20gb:4"));
  EXPECT_TRUE(created->default_compute);
  const auto destroyed = parse_arguments({"mig", "--destroy-compute-instance", "-gi", "1,2", "-ci", "0"});
  ASSERT_TRUE(destroyed);
  EXPECT_EQ(destroyed->action, Action::destroy_compute);
  EXPECT_THAT(destroyed->gpu_instances, ElementsAre(1, 2));
  EXPECT_THAT(destroyed->compute_instances, ElementsAre(0));
}

TEST(Arguments, ComputeInstancesOfTheDefaultProfileNeedNoValue) {
  const auto arguments = parse_arguments({"mig", "-cci", "-gi", "2"});
  ASSERT_TRUE(arguments);
  EXPECT_EQ(arguments->action, Action::create_compute);
  EXPECT_THAT(arguments->values, ElementsAre());
  EXPECT_THAT(arguments->gpu_instances, ElementsAre(2));
}

TEST(Arguments, WhatIsNotTakenIsRefused) {
  for (const auto& words : {std::vector<std::string>{"--colour"},
                            {"-lgip"},
                            {"mig", "-L"},
                            {"-i"},
                            {"--query-gpu"},
                            {"mig", "-dgi", "-gi", "one"},
                            {"mig", "-dgi", "-gi", "-1"},
                            {"--query-gpu=name", "--format=json"}}) {
    const auto arguments = parse_arguments(words);
    EXPECT_FALSE(arguments) << words.front();
    if (!arguments) {
      EXPECT_EQ(arguments.error().code, ErrorCode::invalid);
      EXPECT_FALSE(arguments.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace partita::emulator::programs
