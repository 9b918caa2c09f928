#include "catalog/catalog.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/test_folder.h"
#include "base/text.h"
#include "base/yaml.h"
#include "catalog/board_file.h"
#include "catalog/embedded.h"
#include "catalog/fields.h"

namespace partita::catalog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const Board> board(std::string_view id) {
  auto catalog = Catalog::open();
  EXPECT_TRUE(catalog) << catalog.error().message;
  auto found = catalog->board(id);
  EXPECT_TRUE(found) << found.error().message;
  return *found;
}

TEST(Embedded, HoldsTheFilesOfTheDataFolder) {
  const auto files = embedded_files("boards/");
  std::set<std::string> expected;
  for (const auto& entry : std::filesystem::directory_iterator(PARTITA_SOURCE_DIR "/data/boards"))
    if (entry.path().extension() == ".yaml") expected.insert("boards/" + entry.path().filename().string());
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()), expected);
  EXPECT_TRUE(std::ranges::is_sorted(files));
  for (const auto file : files) {
    std::ifstream stream(std::string(PARTITA_SOURCE_DIR "/data/") + std::string(file));
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    EXPECT_EQ(embedded_file(file), text) << file;
  }
  EXPECT_EQ(embedded_file("boards/none.yaml"), std::nullopt);
  EXPECT_EQ(embedded_file(""), std::nullopt);
}

TEST(Catalog, IndexAgreesWithEveryBoardFile) {
  auto catalog = Catalog::open();
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_EQ(catalog->boards().size(), 29u);
  EXPECT_EQ(embedded_files("boards/").size(), catalog->boards().size() + 1);  // and the index
  std::set<std::uint16_t> devices;
  for (const BoardEntry& entry : catalog->boards()) {
    const auto read = catalog->board(entry.id);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ((*read)->id, entry.id);
    EXPECT_EQ((*read)->product, entry.product);
    EXPECT_EQ((*read)->pci_devices, entry.pci_devices);
    EXPECT_FALSE((*read)->sources.empty()) << entry.id;
    for (const auto device : entry.pci_devices) EXPECT_TRUE(devices.insert(device).second) << entry.id;
  }
}

TEST(Catalog, ReadsTheFactsOfAnA100) {
  const auto a100 = board("a100-sxm4-40gb");
  EXPECT_EQ(a100->product, "NVIDIA A100-SXM4-40GB");
  EXPECT_THAT(a100->pci_devices, ElementsAre(0x20B0));
  EXPECT_EQ(a100->chip, "GA100");
  EXPECT_EQ(a100->placement_units, 8);
  EXPECT_EQ(a100->compute_slices, 7);
  EXPECT_TRUE(a100->mode_change_needs_reset);
  EXPECT_TRUE(a100->mode_survives_reboot);
  EXPECT_EQ(a100->total_memory, mib(40960));
  EXPECT_EQ(a100->min_driver, "450.80.02");
  EXPECT_EQ(a100->specs.sm_count, 108);
  EXPECT_EQ(a100->specs.memory_bandwidth_gb_per_s, 1555);
  ASSERT_EQ(a100->profiles.size(), 7u);
  const Profile& p3g = a100->profiles[4];
  EXPECT_EQ(p3g.name, "3g.20gb");
  EXPECT_EQ(p3g.id, 9);
  EXPECT_EQ(p3g.nvml_profile, 2);
  EXPECT_EQ(p3g.memory, mib(20096));
  EXPECT_EQ(p3g.engines.decoder, 2);
  EXPECT_THAT(p3g.placements, ElementsAre(0, 4));
  EXPECT_THAT(p3g.driver_order, ElementsAre(4, 0));
  ASSERT_EQ(p3g.compute.size(), 3u);
  EXPECT_EQ(p3g.compute[0].name, "1c.3g.20gb");
  EXPECT_TRUE(p3g.compute[2].is_default);
  const auto vgpu = std::ranges::find(a100->vgpu_types, "GRID A100X-3-20C", &VgpuType::name);
  ASSERT_NE(vgpu, a100->vgpu_types.end());
  EXPECT_EQ(vgpu->id, 465);
  EXPECT_EQ(vgpu->profile, 4);
  EXPECT_EQ(vgpu->max_per_gpu, 2);
}

TEST(Catalog, MarksAssumedPlacementsAndBoardsWithoutMig) {
  for (const auto* id : {"rtx-pro-5000", "rtx-pro-4500", "rtx-6000d"}) {
    const auto described = board(id);
    for (const Profile& profile : described->profiles) {
      EXPECT_TRUE(profile.placements_assumed) << id;
      EXPECT_FALSE(profile.compute.empty()) << id;
    }
  }
  EXPECT_FALSE(board("rtx-pro-6000-server")->profiles[0].placements_assumed);
  const auto gb10 = board("gb10");
  EXPECT_FALSE(gb10->has_mig());
  EXPECT_EQ(gb10->specs.sm_count, 48);
  EXPECT_EQ(gb10->total_memory, std::nullopt);
}

// Facts that hold for each board, whatever its numbers.
TEST(Catalog, RowsAreConsistentOnEveryBoard) {
  auto catalog = Catalog::open();
  for (const BoardEntry& entry : catalog->boards()) {
    const auto b = *catalog->board(entry.id);
    for (const Profile& p : b->profiles) {
      SCOPED_TRACE(entry.id + " " + p.name);
      EXPECT_LE(p.max_instances, b->placement_units / p.placement_size);
      EXPECT_LE(p.max_instances, static_cast<int>(p.placements.size()));
      EXPECT_EQ(p.placement_size * b->memory_slices, p.memory_slices * b->placement_units);
      EXPECT_TRUE(p.name.starts_with(std::to_string(p.compute_slices) + "g."));
      for (const ComputeProfile& c : p.compute) {
        EXPECT_EQ(c.compute_slices, c.placement_size);
        EXPECT_TRUE(c.name.ends_with(p.name)) << c.name;
        EXPECT_EQ(c.is_default, c.compute_slices == p.compute_slices) << c.name;
        if (c.sm && p.sm) {
          EXPECT_LE(*c.sm * c.max_instances, *p.sm) << c.name;
        }
      }
    }
  }
}

TEST(Catalog, FindsBoardsByIdAndDevice) {
  auto catalog = Catalog::open();
  EXPECT_EQ((*catalog->board_by_pci(0x2330))->id, "h100-sxm5-80gb");
  EXPECT_EQ((*catalog->board_by_pci(0x20F6))->id, "a800-40gb");
  EXPECT_EQ(*catalog->board_by_pci(0x1234), nullptr);
  const auto missing = catalog->board("a100-sxm4-40");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("did you mean a100-sxm4-40gb"));
  EXPECT_EQ(*catalog->board("gb10"), *catalog->board("gb10")) << "read once";
}

TEST(Catalog, DataFolderGoesBeforeTheEmbeddedBoards) {
  const TestFolder folder;
  std::string text(*embedded_file("boards/a30-24gb.yaml"));
  text.replace(text.find("NVIDIA A30"), 10, "NVIDIA B30");
  folder.write("boards/a30-24gb.yaml", text);
  std::string fresh(*embedded_file("boards/gb10.yaml"));
  fresh.replace(fresh.find("id: gb10"), 8, "id: gb20");
  folder.write("boards/gb20.yaml", fresh);
  folder.write("boards/README.md", "no board");
  auto catalog = Catalog::open(folder.path());
  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_EQ(catalog->boards().size(), 30u);
  EXPECT_EQ((*catalog->board("a30-24gb"))->product, "NVIDIA B30");
  EXPECT_EQ((*catalog->board_by_pci(0x20B7))->product, "NVIDIA B30");
  EXPECT_EQ((*catalog->board_by_pci(0x2E12))->id, "gb20") << "the folder's board takes the device id over";
  EXPECT_EQ((*catalog->board("gb10"))->id, "gb10");
}

TEST(Catalog, DataFolderErrors) {
  const TestFolder folder;
  auto missing = Catalog::open(folder.path() / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_FALSE(Catalog::open(folder.path())) << "no boards/ in it";
  folder.write("boards/x.yaml", *embedded_file("boards/gb10.yaml"));
  const auto name = Catalog::open(folder.path());
  ASSERT_FALSE(name);
  EXPECT_THAT(name.error().message, HasSubstr("x.yaml: id: expected \"x\", the file's name, found \"gb10\""));
  folder.write("boards/x.yaml", "id: x\nproduct: y\n");
  const auto keys = Catalog::open(folder.path());
  ASSERT_FALSE(keys);
  EXPECT_EQ(keys.error().code, ErrorCode::invalid);
  EXPECT_THAT(keys.error().message, HasSubstr("x.yaml:1: key \"pci_devices\" is missing"));
}

// The schema that people's editors use says the same as the reader.
TEST(BoardFile, SchemaHasTheReadersKeys) {
  std::ifstream stream(PARTITA_SOURCE_DIR "/data/schemas/board.schema.json");
  const auto schema = parse_yaml(std::string(std::istreambuf_iterator<char>(stream), {}), "board.schema.json");
  ASSERT_TRUE(schema) << schema.error().message;
  const auto agrees = [&](std::string_view definition, Keys required, Keys optional) {
    SCOPED_TRACE(definition);
    const YamlNode& node = *schema->root.find("$defs")->find(definition);
    std::set<std::string> needed, all, expected(required.begin(), required.end());
    for (const auto& item : node.find("required")->items) needed.insert(item.text);
    for (const auto& member : node.find("properties")->members) all.insert(member.first);
    EXPECT_EQ(needed, expected);
    expected.insert(optional.begin(), optional.end());
    EXPECT_EQ(all, expected);
  };
  agrees("board", kBoardKeys, kBoardOptional);
  agrees("mig", kMigKeys, kMigOptional);
  agrees("specs", kSpecKeys, kSpecOptional);
  agrees("profile", kProfileKeys, kProfileOptional);
  agrees("engines", {}, kEngineKeys);
  agrees("compute", kComputeKeys, kComputeOptional);
  agrees("vgpu", kVgpuKeys, kVgpuOptional);
}

// Each change of a good file is refused, with the line and the key.
TEST(BoardFile, RefusesWrongRows) {
  const std::string good(*embedded_file("boards/a30-24gb.yaml"));
  struct Case {
    std::string from, to, expected;
  };
  const std::vector<Case> cases = {
      {"placement_units: 4", "placement_units: 0",
       "mig.placement_units: expected a whole number from 1 to 32, found \"0\""},
      {"placement_units: 4", "placement_units: 33", "found \"33\""},
      {"placements: [0, 2]", "placements: [0, 3]",
       "profiles[2].placements: start 3 with size 2 ends after the last slice"},
      {"placements: [0, 2]", "placements: [2, 0]", "expected ascending starts"},
      {"placements: [0, 2]", "placements: []", "expected at least one start"},
      {"driver_order: [0, 2]", "driver_order: [0, 1]", "expected the same starts as placements"},
      {"chip: GA100", "chips: GA100", "unknown key \"chips\"; did you mean chip?"},
      {"[\"0x20B7\"]", "[\"0x20B\"]", "expected device ids such as \"0x20B0\", found \"0x20B\""},
      {"[\"0x20B7\"]", "[]", "expected at least one device id"},
      {"id: a30-24gb", "id: A30", "expected lower case letters"},
      {"is_default: true", "is_default: false", "expected exactly one row with is_default: true"},
      {"attributes: [me]", "attributes: [you]", "expected me, me_all, gfx or no_me, found \"you\""},
      {"name: 2g.12gb+me", "name: 2g.12gb", "\"2g.12gb\" is listed twice"},
      {"profile: 1g.6gb,", "profile: 1g.7gb,", "\"1g.7gb\" is none of this board's profiles"},
      {"memory_mib: 5952", "memory_mib: lots", "found \"lots\""},
      {"sm: 14", "sm: [14]", "found a list"},
      {"family: ampere", "family: ampere\nfamily: ampere", "is given twice"},
  };
  ASSERT_TRUE(read_board(good, "a30"));
  for (const Case& c : cases) {
    std::string text = good;
    ASSERT_NE(text.find(c.from), std::string::npos) << c.from;
    text.replace(text.find(c.from), c.from.size(), c.to);
    const auto read = read_board(text, "a30");
    ASSERT_FALSE(read) << c.to;
    EXPECT_EQ(read.error().code, ErrorCode::invalid) << c.to;
    EXPECT_THAT(read.error().message, HasSubstr(c.expected));
    EXPECT_THAT(read.error().message, HasSubstr("a30:"));
  }
}

}  // namespace
}  // namespace partita::catalog
