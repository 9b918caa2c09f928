#include "predict/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace partita::predict {
namespace {

using ::testing::HasSubstr;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Constants, WhatIsWrittenIsRead) {
  Constants written = prior_constants();
  written[Key::launch_us] = 31.25;
  written.standard_error[0] = 0.5;
  written.hosts.push_back({"lab", 1.5, 3, 20, {0.1, 0.2, 0.3}});
  written.networks = {"resnet50"};
  written.fitted_on = "lab: 10 rows";
  auto read = read_constants(write_constants(written), "c.yaml");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->value, written.value);
  EXPECT_EQ(read->standard_error, written.standard_error);
  ASSERT_NE(read->host("lab"), nullptr);
  EXPECT_EQ(read->host("lab")->launch_factor, 1.5);
  EXPECT_EQ(read->host("other"), nullptr);
  EXPECT_EQ(read->networks, written.networks);
  EXPECT_EQ(read->fitted_on, written.fitted_on);
}

TEST(Constants, TheTableIsInTheOrderOfTheKeysAndInsideItsRanges) {
  for (std::size_t i = 0; i < kKeyCount; ++i) {
    const KeyInfo& info = key_table()[i];
    EXPECT_EQ(static_cast<std::size_t>(info.key), i) << info.name;
    EXPECT_LE(info.low, info.start) << info.name;
    EXPECT_GE(info.high, info.start) << info.name;
    EXPECT_EQ(info.source.empty(), info.fitted) << info.name << ": priors have a source, fitted constants none";
  }
}

TEST(Constants, WrongFilesNameLineAndKey) {
  std::string good = write_constants(prior_constants());
  auto message = [](const std::string& text) {
    auto read = read_constants(text, "c.yaml");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_THAT(message(replaced(good, "name: launch_us", "name: launch_ms")),
              HasSubstr("no constant is called \"launch_ms\""));
  EXPECT_THAT(message(replaced(good, "value: 29,", "value: 2900,")),
              HasSubstr("launch_us: expected 5 to 200, found 2900"));
  EXPECT_THAT(message(replaced(good, "unit: \"us\"", "unit: \"ms\"")), HasSubstr("expected the unit us, found ms"));
  EXPECT_THAT(message(replaced(good, "name: context_mib,", "name: convolution_context_mib,")),
              HasSubstr("given twice"));
  EXPECT_THAT(message(replaced(good, "memory_spread:", "memory:")), HasSubstr("c.yaml"));
  EXPECT_THAT(message("fitted_on: \"x\"\nconstants: []\nhosts: []\nnetworks: []\nspread: {}\nmemory_spread: 0.1\n"),
              HasSubstr("launch_us is missing"));
}

TEST(Constants, TheShippedFileIsRead) {
  auto shipped = shipped_constants();
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_THAT((*shipped)->fitted_on, HasSubstr("migperf"));
  EXPECT_EQ((*shipped)->hosts.size(), 2u);
}

}  // namespace
}  // namespace partita::predict
