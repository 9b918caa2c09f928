// The driver's tables laid over the catalog's board: pure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/catalog.h"
#include "driver/tables.h"

namespace partita::driver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const catalog::Board> catalog_board(std::string_view id) {
  auto catalog = catalog::Catalog::open();
  return catalog->board(id).value();
}

std::vector<NvmlPlacement> placements(const std::vector<int>& starts, int size) {
  std::vector<NvmlPlacement> rows;
  for (const int start : starts) rows.push_back({static_cast<U32>(start), static_cast<U32>(size)});
  return rows;
}

// What a driver that agrees with the catalog would list.
ProfileTables tables_of(const catalog::Board& board) {
  ProfileTables tables;
  for (const auto& p : board.profiles) {
    tables.gpu.push_back({.nvml_profile = p.nvml_profile,
                          .id = p.id.value_or(0),
                          .name = p.name,
                          .slices = p.compute_slices,
                          .instances = p.max_instances,
                          .sm = p.sm.value_or(0),
                          .copy = p.engines.copy.value_or(0),
                          .decoder = p.engines.decoder.value_or(0),
                          .encoder = p.engines.encoder.value_or(0),
                          .jpeg = p.engines.jpeg.value_or(0),
                          .ofa = p.engines.ofa.value_or(0),
                          .memory_mib = in_mib(p.memory.value_or(Bytes{})),
                          .placements = placements(p.placements, p.placement_size)});
  }
  std::ranges::sort(tables.gpu, {}, &GpuProfileRow::nvml_profile);
  return tables;
}

const catalog::Profile& profile(const catalog::Board& board, std::string_view name) {
  const auto found = std::ranges::find(board.profiles, name, &catalog::Profile::name);
  if (found == board.profiles.end()) throw std::runtime_error("no profile " + std::string(name));
  return *found;
}

GpuIdentity identity(const catalog::Board& board) {
  return {.product = board.product, .pci_device = board.pci_devices.front(), .total_memory = *board.total_memory};
}

TEST(EffectiveBoard, IsTheCatalogsWhereTheDriverAgrees) {
  const auto known = catalog_board("a100-sxm4-40gb");
  const auto board = effective_board(known.get(), tables_of(*known), identity(*known));
  ASSERT_EQ(board.profiles.size(), known->profiles.size());
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    EXPECT_EQ(board.profiles[i].name, known->profiles[i].name);  // and in the same order
    EXPECT_EQ(board.profiles[i].placements, known->profiles[i].placements);
    EXPECT_EQ(board.profiles[i].driver_order, known->profiles[i].driver_order);
    EXPECT_EQ(board.profiles[i].memory, known->profiles[i].memory);
    EXPECT_EQ(board.profiles[i].confidence, known->profiles[i].confidence);
    EXPECT_EQ(board.profiles[i].compute.size(), known->profiles[i].compute.size());
  }
  EXPECT_EQ(board.placement_units, known->placement_units);
  EXPECT_EQ(board.memory_slices, known->memory_slices);
}

TEST(EffectiveBoard, TakesTheDriversNumbers) {
  const auto known = catalog_board("a100-sxm4-40gb");
  auto tables = tables_of(*known);
  auto& row = *std::ranges::find(tables.gpu, 9, &GpuProfileRow::id);  // 3g.20gb
  row.name = "3g.21gb";
  row.memory_mib = 20480;
  row.sm = 40;
  row.instances = 1;
  row.decoder = 3;
  row.placements = placements({4}, 4);
  const auto board = effective_board(known.get(), tables, identity(*known));
  const auto& p = profile(board, "3g.21gb");
  EXPECT_EQ(p.memory, gib(20));
  EXPECT_EQ(p.sm, 40);
  EXPECT_EQ(p.max_instances, 1);
  EXPECT_EQ(p.engines.decoder, 3);
  EXPECT_THAT(p.placements, ElementsAre(4));
  EXPECT_THAT(p.driver_order, ElementsAre(4));
  EXPECT_EQ(p.confidence, profile(*known, "3g.20gb").confidence);
  // Compute profiles are not known yet: the catalog's, under the new name.
  std::vector<std::string> names;
  for (const auto& c : p.compute) names.push_back(c.name);
  EXPECT_THAT(names, ElementsAre("1c.3g.21gb", "2c.3g.21gb", "3g.21gb"));
}

TEST(EffectiveBoard, NamesProfilesWhereTheDriverDoesNot) {
  const auto known = catalog_board("a100-sxm4-40gb");
  auto tables = tables_of(*known);
  for (auto& row : tables.gpu) row.name.clear();
  auto with = identity(*known);
  const auto board = effective_board(known.get(), tables, with);
  EXPECT_EQ(profile(board, "3g.20gb").id, 9);
  EXPECT_EQ(profile(board, "1g.5gb+me").id, 20);
}

TEST(EffectiveBoard, DropsWhatTheDriverDoesNotListAndKeepsVgpuTypesInStep) {
  const auto known = catalog_board("a100-sxm4-40gb");
  auto tables = tables_of(*known);
  std::erase_if(tables.gpu, [](const GpuProfileRow& row) { return row.id == 20; });  // 1g.5gb+me
  const auto board = effective_board(known.get(), tables, identity(*known));
  ASSERT_EQ(board.profiles.size(), known->profiles.size() - 1);
  bool any = false;
  ASSERT_EQ(board.vgpu_types.size(), known->vgpu_types.size());
  for (std::size_t i = 0; i < board.vgpu_types.size(); ++i) {
    const auto before = known->vgpu_types[i].profile;
    const auto after = board.vgpu_types[i].profile;
    if (!before) continue;
    const auto& old_profile = known->profiles[static_cast<std::size_t>(*before)];
    if (old_profile.id == 20) {
      EXPECT_FALSE(after) << board.vgpu_types[i].name;
      continue;
    }
    ASSERT_TRUE(after) << board.vgpu_types[i].name;
    EXPECT_EQ(board.profiles[static_cast<std::size_t>(*after)].id, old_profile.id);
    any = true;
  }
  EXPECT_TRUE(any);
}

TEST(EffectiveBoard, AddsWhatTheCatalogLacks) {
  const auto known = catalog_board("a100-sxm4-40gb");
  auto tables = tables_of(*known);
  tables.gpu.push_back({.nvml_profile = 17,
                        .id = 77,
                        .name = "1g.5gb+gfx",
                        .slices = 1,
                        .instances = 9,
                        .sm = 14,
                        .memory_mib = 4864,
                        .placements = placements({0, 1, 2}, 1)});
  const auto board = effective_board(known.get(), tables, identity(*known));
  const auto& p = profile(board, "1g.5gb+gfx");
  EXPECT_EQ(&p, &board.profiles.back());
  EXPECT_TRUE(p.attributes.gfx);
  EXPECT_EQ(p.memory_slices, 1);
  EXPECT_EQ(p.max_instances, 3);  // no more than there are places
  EXPECT_EQ(p.confidence, "driver");
  ASSERT_EQ(p.compute.size(), 1u);
  EXPECT_TRUE(p.compute[0].is_default);
  EXPECT_EQ(p.compute[0].name, "1g.5gb+gfx");
}

TEST(EffectiveBoard, KeepsComputeIndicesWhenTheDriversTableIsSeen) {
  const auto known = catalog_board("a100-sxm4-40gb");
  auto tables = tables_of(*known);
  // 3g.20gb: 1c as known, no 2c, the full one under another number, and one the catalog lacks.
  tables.compute[9] = {
      {.nvml_profile = 0,
       .id = 0,
       .name = "1c.3g.20gb",
       .slices = 1,
       .instances = 3,
       .sm = 14,
       .placements = placements({0, 1, 2}, 1)},
      {.nvml_profile = 7,
       .id = 7,
       .name = "1c.3g.20gb+x",
       .slices = 1,
       .instances = 1,
       .sm = 20,
       .placements = placements({2}, 1)},
      {.nvml_profile = 9, .id = 9, .name = "3g.20gb", .slices = 3, .instances = 1, .sm = 42, .placements = {}},
  };
  const auto board = effective_board(known.get(), tables, identity(*known));
  const auto& compute = profile(board, "3g.20gb").compute;
  ASSERT_EQ(compute.size(), 4u);
  EXPECT_EQ(compute[0].name, "1c.3g.20gb");
  EXPECT_EQ(compute[1].max_instances, 0);  // 2c: gone, its index stays
  EXPECT_THAT(compute[1].placements, IsEmpty());
  EXPECT_EQ(compute[2].compute_slices, 3);
  EXPECT_EQ(compute[2].nvml_profile, 9);
  EXPECT_TRUE(compute[2].is_default);
  EXPECT_THAT(compute[2].placements, ElementsAre(0));
  EXPECT_EQ(compute[3].name, "1c.3g.20gb+x");
  EXPECT_EQ(compute[3].sm, 20);
  EXPECT_EQ(std::ranges::count_if(compute, &catalog::ComputeProfile::is_default), 1);
}

TEST(EffectiveBoard, MakesABoardFromTheTablesAlone) {
  const auto known = catalog_board("a100-sxm4-40gb");
  const auto board = effective_board(
      nullptr, tables_of(*known),
      {.product = "NVIDIA PG506-232", .pci_device = 0x20B6, .total_memory = gib(40), .mode_change_needs_reset = true});
  EXPECT_EQ(board.id, "pci-20b6");
  EXPECT_EQ(board.product, "NVIDIA PG506-232");
  EXPECT_EQ(board.placement_units, 8);
  EXPECT_EQ(board.compute_slices, 7);
  EXPECT_EQ(board.memory_slices, 8);
  EXPECT_TRUE(board.mode_change_needs_reset);
  EXPECT_EQ(board.profiles.size(), known->profiles.size());
  for (const auto& p : board.profiles) {
    const auto& same = profile(*known, p.name);
    EXPECT_EQ(p.memory_slices, same.memory_slices) << p.name;
    EXPECT_EQ(p.attributes, same.attributes) << p.name;
  }
}

TEST(EffectiveBoard, ReadsTheGridOfTwelve) {
  const auto known = catalog_board("rtx-pro-6000-server");
  const auto board = effective_board(nullptr, tables_of(*known), identity(*known));
  EXPECT_EQ(board.placement_units, 12);
  EXPECT_EQ(board.memory_slices, 4);
  EXPECT_EQ(profile(board, "2g.48gb").memory_slices, 2);
  EXPECT_TRUE(profile(board, "1g.24gb-me").attributes.no_me);
  EXPECT_TRUE(profile(board, "1g.24gb+me.all").attributes.me_all);
}

}  // namespace
}  // namespace partita::driver
