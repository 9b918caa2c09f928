#include "layout/mig_parted_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "layout/test_node.h"

namespace partita::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kGood = R"(version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  all-enabled:
    - devices: all
      mig-enabled: true
      mig-devices: {}
  mixed:
    # the first two
    - devices: [0, 1]
      device-filter: "0x20B010DE"
      mig-enabled: true
      mig-devices:
        "1g.5gb": 2
        1c.3g.20gb: 3
        1g.5gb+me: 1
        2g.10gb: 0
    - devices: [2]
      device-filter: ["0x20B210DE", "0x233010DE:0x134F10DE"]
      mig-enabled: true
      mig-devices: {"1g.24gb.me.all": 1, "1g.24gb-me": 2, "2g.48gb+gfx": 1}
    - devices: all
      device-filter: 0x20B510DE
      mig-enabled: false
      mig-devices:
)";

TEST(MigPartedFile, ReadsEveryForm) {
  const auto file = read_mig_parted(kGood, "f.yaml");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->labels.size(), 3u);
  EXPECT_EQ(file->labels[0].name, "all-disabled");
  EXPECT_EQ(file->labels[0].entries[0].mig_devices, std::nullopt);
  EXPECT_TRUE(file->labels[1].entries[0].mig_devices->empty());
  const auto& entries = (*file->label("mixed"))->entries;
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].line, 12);
  EXPECT_EQ(entries[0].devices, (std::vector{0, 1}));
  EXPECT_THAT(*entries[0].mig_devices, ElementsAre(Pair("1g.5gb", 2), Pair("1c.3g.20gb", 3), Pair("1g.5gb+me", 1)));
  EXPECT_EQ(entries[0].filters[0].device, 0x20B010DEu);
  ASSERT_EQ(entries[1].filters.size(), 2u);
  EXPECT_EQ(entries[1].filters[1].subsystem, 0x134F10DEu);
  EXPECT_EQ(entries[2].devices, std::nullopt);
  EXPECT_EQ(entries[2].filters[0].text, "0x20B510DE");
}

TEST(MigPartedFile, ReadsJson) {
  const auto file = read_mig_parted(
      R"({"version": "v1", "mig-configs": {"x": [{"devices": "all", "mig-enabled": true, "mig-devices": {"1g.5gb": 7}}]}})",
      "-");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->labels[0].entries[0].mig_devices->at(0).second, 7);
}

struct Change {
  const char* from;
  const char* to;
  const char* expected;
};

class MigPartedErrors : public ::testing::TestWithParam<Change> {};

TEST_P(MigPartedErrors, NameFileLineAndKey) {
  const auto& [from, to, expected] = GetParam();
  std::string text = kGood;
  ASSERT_NE(text.find(from), std::string::npos) << from;
  text.replace(text.find(from), std::string_view(from).size(), to);
  const auto read = read_mig_parted(text, "f.yaml");
  ASSERT_FALSE(read) << to;
  EXPECT_EQ(read.error().code, ErrorCode::invalid);
  EXPECT_THAT(read.error().message, HasSubstr(expected));
}

INSTANTIATE_TEST_SUITE_P(
    All, MigPartedErrors,
    ::testing::Values(
        Change{"version: v1", "version: v2", "f.yaml:1: version: expected v1, found \"v2\""},
        Change{"version: v1", "version:", "f.yaml:1: version: expected v1, found \"\""},
        Change{"version: v1\n", "", "key \"version\" is missing"},
        Change{"mig-configs:", "mig-config:", "unknown key \"mig-config\"; did you mean mig-configs?"},
        Change{"devices: all\n      mig-enabled: false\n  all-e", "device: all\n      mig-enabled: false\n  all-e",
               "f.yaml:4: mig-configs.all-disabled[0]: unknown key \"device\"; did you mean devices"},
        Change{"mig-enabled: false", "mig-enabled: no",
               "f.yaml:5: mig-configs.all-disabled[0].mig-enabled: expected true or false, found \"no\""},
        Change{"mig-enabled: false", "mig-enabled: \"false\"", "expected true or false, found the text \"false\""},
        Change{"      mig-devices: {}\n", "",
               "f.yaml:7: mig-configs.all-enabled[0]: key \"mig-devices\" is missing; write mig-devices: {}"},
        Change{"mig-devices: {}",
               "mig-devices:", "f.yaml:9: mig-configs.all-enabled[0].mig-devices: expected a mapping, found nothing"},
        Change{"mig-enabled: false", "mig-enabled: false\n      mig-devices: {1g.5gb: 1}",
               "f.yaml:6: mig-configs.all-disabled[0].mig-devices: expected none where mig-enabled is false"},
        Change{"devices: [0, 1]", "devices: 0",
               "mixed[0].devices: expected all or a list of GPU indices such as [0, 1]"},
        Change{"devices: [0, 1]", "devices: []", "expected all or a list of GPU indices"},
        Change{"devices: [0, 1]", "devices: [0, 0]",
               "f.yaml:12: mig-configs.mixed[0].devices[1]: GPU 0 is listed twice"},
        Change{"devices: [0, 1]", "devices: [0, -1]", "expected a whole number from 0 to 1023, found \"-1\""},
        Change{"devices: [0, 1]", "devices: [0, \"1\"]", "found the text \"1\""},
        Change{"devices: [0, 1]", "devices: [GPU-1]", "found \"GPU-1\""},
        Change{"\"0x20B010DE\"", "\"0x20B010D\"",
               "f.yaml:13: mig-configs.mixed[0].device-filter: expected a device id and vendor such as \"0x20B010DE\""},
        Change{"\"0x20B010DE\"", "\"20B010DE\"", "device-filter: expected a device id"},
        Change{"\"0x20B010DE\"", "\"\"", "device-filter: expected a device id"},
        Change{"\"0x20B010DE\"", "\"0x20B010DG\"", "device-filter: expected a device id"},
        Change{"\"0x20B010DE\"", "\"0x10DE20B0\"",
               "expected NVIDIA's vendor id 10DE in the last four digits, found \"0x10DE20B0\""},
        Change{"0x233010DE:0x134F10DE", "0x233010DE:", "mixed[1].device-filter[1]: expected a device id"},
        Change{"0x233010DE:0x134F10DE", "0x233010DE:0x134F", "device-filter[1]: expected a device id"},
        Change{
            "\"1g.5gb\": 2", "\"1g.5gb\": -2",
            "f.yaml:16: mig-configs.mixed[0].mig-devices.1g.5gb: expected a whole number from 0 to 1000, found \"-2\""},
        Change{"\"1g.5gb\": 2", "\"1g.5gb\": two", "found \"two\""},
        Change{"\"1g.5gb\": 2", "\"1g.5gb\": 1.5", "found \"1.5\""},
        Change{"\"1g.5gb\": 2", "\"1g.5\": 2", "\"1g.5\" is no profile name"},
        Change{"\"1g.5gb\": 2", "1g.5gb.me: 2",
               "f.yaml:18: mig-configs.mixed[0].mig-devices.1g.5gb+me: is the same profile as \"1g.5gb.me\""},
        Change{"\"1g.5gb\": 2", "\"1g.5gb\": 2\n        \"1g.5gb\": 2",
               "f.yaml:17: key \"1g.5gb\" is given twice (first on line 16)"},
        Change{"mig-devices: {}", "mig-devices: {1g.5gb: 0}",
               "all counts are 0; write {} for MIG mode without instances"},
        Change{"  all-enabled:\n", "  all-disabled:\n", "key \"all-disabled\" is given twice"},
        Change{"  all-enabled:\n", "  \"\":\n", "a label must not be empty"},
        Change{"    - devices: all\n      mig-enabled: false\n", "    []\n",
               "f.yaml:3: mig-configs.all-disabled: expected at least one entry"},
        Change{"    - devices: all\n      mig-enabled: false\n", "    x\n", "expected a list, found \"x\""},
        Change{"devices: all", "devices: &a all", "an anchor"}));

TEST(MigPartedFile, RefusesOtherFiles) {
  EXPECT_EQ(read_mig_parted("", "f").error().message, "f:1: expected a mapping, found nothing");
  EXPECT_THAT(read_mig_parted("version: v1\nmig-configs: {}\n", "f").error().message,
              HasSubstr("f:2: mig-configs: expected at least one label"));
  EXPECT_THAT(
      read_mig_parted("version: v1\nmig-configs:\n  x:\n  - devices: all\n    mig-enabled", "f").error().message,
      HasSubstr("not valid YAML"));
}

// 10,000 labels, 2 MB: well under a second in a release build; the bound here only catches quadratic work.
TEST(MigPartedFile, LargeFilesAreReadSoon) {
  std::string text = "version: v1\nmig-configs:\n";
  for (int i = 0; i < 10'000; ++i)
    text += fmt::format(
        "  layout-{}:\n    - devices: [0, 1, 2, 3]\n      device-filter: [\"0x20B010DE\", \"0x20F110DE\"]\n"
        "      mig-enabled: true\n      mig-devices:\n        \"1g.5gb\": 2\n        \"2g.10gb\": 1\n",
        i);
  const auto begin = std::chrono::steady_clock::now();
  const auto file = read_mig_parted(text, "f");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->labels.size(), 10'000u);
  EXPECT_TRUE(file->label("layout-9999"));
  EXPECT_FALSE(file->label("layout-10000"));
  EXPECT_EQ(read_mig_parted(text + "  layout-0: []\n", "f").error().message,
            "f:70003: key \"layout-0\" is given twice (first on line 3)");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(MigPartedFile, UnknownLabelsGetTheNearestOnes) {
  const auto file = read_mig_parted(kGood, "f.yaml");
  const auto missing = file->label("all-enable");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message,
            "f.yaml: no label \"all-enable\"; did you mean all-enabled or all-disabled? (labels: all-disabled, "
            "all-enabled, mixed)");
  EXPECT_EQ(file->label("zzzzzzzzzzzz").error().message,
            "f.yaml: no label \"zzzzzzzzzzzz\"; labels: all-disabled, all-enabled, mixed");
}

TEST(MigPartedFile, WrittenFilesReadBackEqual) {
  const auto file = *read_mig_parted(kGood, "f.yaml");
  for (const auto& text : {write_mig_parted(file), write_mig_parted_json(file)}) {
    const auto again = read_mig_parted(text, "f.yaml");
    ASSERT_TRUE(again) << again.error().message << text;
    ASSERT_EQ(again->labels.size(), file.labels.size());
    for (std::size_t i = 0; i < file.labels.size(); ++i) {
      EXPECT_EQ(again->labels[i].name, file.labels[i].name);
      for (std::size_t k = 0; k < file.labels[i].entries.size(); ++k) {
        const auto &a = again->labels[i].entries[k], &b = file.labels[i].entries[k];
        EXPECT_EQ(a.devices, b.devices);
        EXPECT_EQ(a.mig_enabled, b.mig_enabled);
        EXPECT_EQ(a.mig_devices, b.mig_devices);
        ASSERT_EQ(a.filters.size(), b.filters.size());
        for (std::size_t f = 0; f < a.filters.size(); ++f) EXPECT_EQ(a.filters[f].text, b.filters[f].text);
      }
    }
  }
}

TEST(MigPartedFile, WritesWhatPeopleWrite) {
  MigPartedFile file;
  MigPartedEntry entry;
  entry.devices = std::vector{0, 1};
  entry.filters = {{0x20B010DE, std::nullopt, "0x20B010DE"}};
  entry.mig_enabled = true;
  entry.mig_devices = {{{"3g.20gb", 2}}};
  file.labels = {{"my-layout", {entry}, 0}, {"no", {MigPartedEntry{}}, 0}};
  EXPECT_EQ(write_mig_parted(file), R"(version: v1
mig-configs:
  my-layout:
  - device-filter: "0x20B010DE"
    devices: [0, 1]
    mig-enabled: true
    mig-devices:
      3g.20gb: 2
  "no":
  - devices: all
    mig-enabled: false
)");
}

}  // namespace
}  // namespace partita::layout
