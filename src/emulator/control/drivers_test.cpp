// What a node's driver version changes, and what a board's facts give to the law of behaviour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "emulator/control/board_readings.h"
#include "emulator/control/compile.h"
#include "emulator/control/driver_names.h"
#include "emulator/control/test_support.h"

namespace partita::emulator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

NodeSpec compiled(const std::string& text) {
  catalog::Catalog catalog = open_catalog();
  const auto file = read_node_file(text, "lab.yaml");
  EXPECT_TRUE(file) << file.error().message;
  auto spec = compile(catalog, *file, "lab", "lab");
  EXPECT_TRUE(spec) << spec.error().message;
  return spec.value_or(NodeSpec{});
}

std::vector<std::string> names(const GpuSpec& gpu) {
  std::vector<std::string> all;
  for (const ProfileSpec& profile : gpu.profiles) all.push_back(profile.name);
  return all;
}

GpuSpec gpu_of(const std::string& board, const std::string& driver, const std::string& more = "") {
  return compiled("driver: \"" + driver + "\"\ngpus: [{board: " + board + more + "}]").gpus.at(0);
}

TEST(DriverNames, OldDriversLackProfiles) {
  EXPECT_THAT(names(gpu_of("a100-sxm4-40gb", "450.80.02")), Not(Contains("1g.5gb+me")));
  EXPECT_THAT(names(gpu_of("a100-sxm4-40gb", "470.57.02")), Contains("1g.5gb+me"));
  EXPECT_THAT(names(gpu_of("a100-sxm4-40gb", "515.65.01")), Not(Contains("1g.10gb")));
  EXPECT_THAT(names(gpu_of("a100-sxm4-40gb", "525.60.13")), Contains("1g.10gb"));
  EXPECT_THAT(names(gpu_of("a30-24gb", "515.65.01")), Not(Contains("2g.12gb+me")));
}

TEST(DriverNames, MemoryOfTheGpu) {
  EXPECT_EQ(gpu_of("a100-sxm4-40gb", "470.57.02").memory_mib, 40536U);
  EXPECT_EQ(gpu_of("a100-sxm4-40gb", "550.90.07").memory_mib, 40960U);
  EXPECT_EQ(gpu_of("a100-sxm4-40gb", "470.57.02", ", total_memory: 40537MiB").memory_mib, 40537U)
      << "the node file goes before the table";
}

// The same ids under another spelling; compute instances follow.
TEST(DriverNames, SpellingFollowsTheBranch) {
  const GpuSpec before = gpu_of("gb300-278gb", "595.58.03"), after = gpu_of("gb300-278gb", "610.10");
  EXPECT_THAT(names(before), Contains("3g.139gb"));
  EXPECT_THAT(names(after), Contains("3g.126gb"));
  ASSERT_EQ(before.profiles.size(), after.profiles.size());
  for (std::size_t i = 0; i < before.profiles.size(); ++i) {
    EXPECT_EQ(before.profiles[i].id, after.profiles[i].id);
    EXPECT_NE(before.profiles[i].name, after.profiles[i].name) << "each has another name";
  }
  const auto three = std::ranges::find(after.profiles, "3g.126gb", &ProfileSpec::name);
  ASSERT_NE(three, after.profiles.end());
  EXPECT_THAT(three->compute, Contains(::testing::Field(&ComputeProfileSpec::name, "1c.3g.126gb")));
}

TEST(DriverNames, NameBoardsAndProfilesThatThereAre) {
  catalog::Catalog catalog = open_catalog();
  const auto rows = driver_names();
  ASSERT_TRUE(rows) << rows.error().message;
  for (const DriverNames& row : *rows) {
    for (const std::string& id : row.boards) {
      const auto board = catalog.board(id);
      ASSERT_TRUE(board) << id;
      for (const DriverProfile& profile : row.profiles)
        EXPECT_TRUE(std::ranges::any_of((*board)->profiles, [&](const auto& p) { return p.name == profile.name; }))
            << id << " " << profile.name;
    }
  }
}

TEST(DriverNames, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"drivers: [{boards: [x], source: a, confidence: single}]", "expected `since` or `before`"},
      {"drivers: [{boards: [x], since: 610, source: a, confidence: single, no: 1}]", "drivers[0]: unknown key"},
      {"drivers: [{boards: [x], since: new, source: a, confidence: single}]", "drivers[0].since"},
      {"drivers: [{boards: [x], since: 6, source: a, confidence: b, profiles: {y: {memory_mib: 0}}}]", "memory_mib"},
      {"{}", "key \"drivers\" is missing"}};
  for (const auto& [text, message] : mistakes) {
    const auto rows = read_driver_names(text, "t.yaml");
    ASSERT_FALSE(rows) << text;
    EXPECT_THAT(rows.error().message, HasSubstr(message));
  }
}

TEST(BoardReadings, NameBoardsThatThereAreAndEachFactOnce) {
  catalog::Catalog catalog = open_catalog();
  const auto table = board_readings();
  ASSERT_TRUE(table) << table.error().message;
  std::map<std::string, int> widths, clocks, firmware;
  for (const BoardReadings& row : *table) {
    for (const std::string& id : row.boards) {
      EXPECT_TRUE(catalog.board(id)) << id;
      widths[id] += row.memory_bus_bits ? 1 : 0;
      clocks[id] += row.memory_mhz ? 1 : 0;
      firmware[id] += row.firmware.part_number.empty() ? 0 : 1;
      EXPECT_LE(std::max({widths[id], clocks[id], firmware[id]}), 1) << id;
    }
  }
  // What was seen agrees with the bandwidth of the data sheets: two transfers a clock.
  for (const auto& [id, seen] : clocks) {
    if (seen == 0) continue;
    const BoardReadings known = readings_of(*table, id);
    ASSERT_TRUE(known.memory_bus_bits) << id;
    const double gb_per_s = 2.0 * *known.memory_mhz * *known.memory_bus_bits / 8 / 1000;
    EXPECT_NEAR(gb_per_s, catalog.board(id).value()->specs.memory_bandwidth_gb_per_s.value_or(0), 0.01 * gb_per_s)
        << id;
  }
}

TEST(BoardReadings, MistakesAreNamed) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"boards: [{boards: [x], source: a, confidence: single, no: 1}]", "boards[0]: unknown key"},
      {"boards: [{boards: [x], source: a, confidence: single, memory_mhz: 0}]", "boards[0].memory_mhz"},
      {"boards: [{boards: [x], source: a, confidence: single, vbios: \"\"}]", "boards[0].vbios: expected a text of 1"},
      {"boards: [{boards: [x], source: a, confidence: single, inforom: {x: y}}]", "boards[0].inforom"},
      {"{}", "key \"boards\" is missing"}};
  for (const auto& [text, message] : mistakes) {
    const auto rows = read_board_readings(text, "t.yaml");
    ASSERT_FALSE(rows) << text;
    EXPECT_THAT(rows.error().message, HasSubstr(message));
  }
}

TEST(Limits, PowerClocksAndTimesComeFromTheFacts) {
  const GpuSpec a100 = gpu_of("a100-sxm4-40gb", "550.90.07"), h100 = gpu_of("h100-sxm5-80gb", "550.90.07");
  EXPECT_EQ(a100.power_limit_mw, 400'000U);
  EXPECT_EQ(a100.boost_clock_mhz, 1410U);
  EXPECT_EQ(a100.memory_clock_mhz, 1215U);
  EXPECT_EQ(h100.idle_clock_mhz, 345U);
  EXPECT_EQ(a100.application_clock_mhz, 1095U);
  EXPECT_EQ(a100.least_power_mw, 100'000U);
  EXPECT_EQ(a100.memory_bus_bits, 5120U);
  EXPECT_EQ(h100.memory_clock_mhz, 2619U);
  EXPECT_EQ(h100.firmware.part_number, "692-2G520-0200-000");
  EXPECT_EQ(gpu_of("rtx-pro-5000", "580.95.05").memory_clock_mhz, 14000U) << "384 bits";
  const auto time = [](const GpuSpec& gpu, const char* name) {
    const auto found = std::ranges::find(gpu.profiles, name, &ProfileSpec::name);
    return std::pair(found->create_ms, found->destroy_ms);
  };
  EXPECT_EQ(time(a100, "3g.20gb"), std::pair(200U, 210U));
  EXPECT_EQ(time(h100, "7g.80gb"), std::pair(420U, 260U));
  EXPECT_EQ(time(gpu_of("a30-24gb", "550.90.07"), "2g.12gb"), std::pair(120U, 100U));
}

}  // namespace
}  // namespace partita::emulator
