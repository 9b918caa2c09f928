#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "cli/command_line/parse.h"
#include "cli/common.h"

namespace partita::cli {
namespace {

std::string error_of(std::vector<std::string> arguments) {
  const auto parsed = parse(std::move(arguments));
  return parsed ? "no error" : parsed.error().message;
}

struct Variable {  // set for one test
  const char* name;
  Variable(const char* variable, const char* value) : name(variable) { setenv(variable, value, 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
};

TEST(Parse, GlobalOptionsStandBeforeOrAfterTheVerb) {
  for (const auto& arguments : {std::vector<std::string>{"--emulate", "lab", "status", "-o", "json"},
                                std::vector<std::string>{"status", "-o", "json", "--emulate", "lab"}}) {
    const auto parsed = parse(arguments);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->verb->name, "status");
    EXPECT_EQ(parsed->text("emulate"), "lab");
    EXPECT_EQ(parsed->text("output"), "json");
  }
}

TEST(Parse, SubverbsAndWhatFollowsTwoDashes) {
  const auto parsed = parse({"emulate", "hold", "MIG-1", "--memory", "2GiB", "--", "sleep", "--help", "start"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->verb->name, "emulate hold");
  EXPECT_EQ(parsed->text("DEVICE"), "MIG-1");
  EXPECT_EQ(parsed->command, (std::vector<std::string>{"sleep", "--help", "start"}));
}

TEST(Parse, ANodeWithACommandIsNoSubverb) {
  const auto parsed = parse({"emulate", "lab", "--", "status"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->verb->name, "emulate");
  EXPECT_EQ(parsed->text("NODE"), "lab");
}

TEST(Parse, ALoneDashIsAValue) { EXPECT_EQ(parse({"apply", "-f", "-"})->text("config-file"), "-"); }

TEST(Parse, RepeatableOptionsKeepAllValues) {
  EXPECT_EQ(parse({"status", "--gpu", "0", "--gpu=3"})->all("gpu"), (std::vector<std::string>{"0", "3"}));
}

TEST(Parse, VariablesGiveWhatTheCommandLineDoesNot) {
  const Variable file("MIG_PARTED_CONFIG_FILE", "a.yaml"), mode("MIG_PARTED_MODE_CHANGE_ONLY", "true"),
      reset("MIG_PARTED_SKIP_RESET", "false");
  const auto parsed = parse({"apply"});
  EXPECT_EQ(parsed->text("config-file"), "a.yaml");
  EXPECT_TRUE(parsed->flag("mode-only"));
  EXPECT_FALSE(parsed->flag("skip-reset"));
  EXPECT_EQ(parse({"apply", "-f", "b.yaml"})->text("config-file"), "b.yaml");
}

TEST(Parse, ADemandWinsOverVariables) {
  const Variable file("MIG_PARTED_CONFIG_FILE", "a.yaml");
  const auto wanted = wanted_layout(*parse({"apply", "--demand", "1g.5gb=2"}), true);
  ASSERT_TRUE(wanted) << wanted.error().message;
  EXPECT_TRUE(std::holds_alternative<api::DemandRequest>(*wanted));
}

TEST(Parse, ErrorsNameWhatIsWrongAndWhatIsNear) {
  EXPECT_EQ(error_of({"staus"}), "unknown verb \"staus\"; did you mean status?");
  EXPECT_EQ(error_of({"status", "--verbos"}),
            "unknown option --verbos; did you mean --verbose, --version or --server?");
  EXPECT_EQ(error_of({"status", "more"}), "unexpected argument \"more\" of status");
  EXPECT_EQ(error_of({"apply", "-f"}), "option --config-file needs a value: FILE");
  EXPECT_EQ(error_of({"apply", "-f", "a", "-f", "b"}), "option --config-file is given 2 times (a, b): give it once");
  EXPECT_EQ(error_of({"apply", "--force=perhaps"}), "option --force takes no value");
  EXPECT_EQ(error_of({"emulate", "lab", "nvidia-smi", "--", "x"}),
            "unexpected argument \"nvidia-smi\" of emulate; a command to run stands after --");
  EXPECT_EQ(error_of({"status", "--", "ls"}), "status runs no command: remove \"--\" and what follows");
  EXPECT_EQ(error_of({"emulate", "lab", "--"}), "the command after -- is missing");
}

TEST(Parse, AnEmptyValueDoesNotTakeTheNextArgument) {
  for (const char* option : {"--name=", "--emulate=", "--count="}) {
    const auto parsed = parse({"lease", "1g.5gb", option, "--for", "1s"});
    ASSERT_FALSE(parsed) << option;
    EXPECT_EQ(parsed.error().message,
              "option " + std::string(option, std::strlen(option) - 1) + ": nothing stands after the =");
  }
  EXPECT_EQ(parse({"lease", "1g.5gb", "--label=a=", "--for", "1s"})->text("label"), "a=");
  EXPECT_EQ(parse({"run", "-p", "1g.5gb", "--", "x", "--name="})->command->back(), "--name=");
}

TEST(Parse, HelpNeedsNothingElse) {
  EXPECT_TRUE(parse({"emulate", "hold", "--help"}));
  EXPECT_TRUE(parse({"completion", "-h"}));
}

TEST(Parse, EveryOptionOfEveryVerbIsAccepted) {
  for (const auto& verb : verbs())
    for (const auto options : {verb.options, global_options()})
      for (const auto& option : options) {
        std::vector<std::string> arguments;
        for (std::size_t start = 0; start < verb.name.size();) {
          const auto end = std::min(verb.name.find(' ', start), verb.name.size());
          arguments.emplace_back(verb.name.substr(start, end - start));
          start = end + 1;
        }
        for (const auto& positional : verb.positionals) arguments.emplace_back(positional.name);
        arguments.push_back("--" + std::string(key(option)));
        if (!option.value.empty()) arguments.emplace_back("value");
        const auto parsed = parse(arguments);
        ASSERT_TRUE(parsed) << verb.name << " --" << key(option) << ": " << parsed.error().message;
        EXPECT_EQ(parsed->verb, find_verb(verb.name));
        EXPECT_TRUE(parsed->flag(key(option)));
      }
}

TEST(Parsed, NumbersAreWholeAndInBounds) {
  EXPECT_EQ(*parse({"emulate", "fault", "--calls", "7"})->number("calls", 1, 10), 7);
  EXPECT_EQ(*parse({"emulate", "fault"})->number("calls", 1, 10), std::nullopt);
  for (const char* bad : {"0", "11", "1.5", "7x", "", "99999999999999999999", "-1"})
    EXPECT_FALSE(parse({"emulate", "fault", "--calls", bad})->number("calls", 1, 10)) << bad;
}

TEST(ParseDemand, ReadsProfilesAndCounts) {
  const auto demand = parse_demand("3g.20gb=2, 1g.5gb+me , 2g.10gb=1");
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(demand->demand,
            (std::vector<std::pair<std::string, int>>{{"3g.20gb", 2}, {"1g.5gb+me", 1}, {"2g.10gb", 1}}));
  for (const char* bad :
       {"", ",", "=2", "1g.5gb=", "1g.5gb=0", "1g.5gb=-1", "1g.5gb=x", "1g.5gb=4097", "a=1,a=2", "a,"})
    EXPECT_FALSE(parse_demand(bad)) << bad;
}

}  // namespace
}  // namespace partita::cli
