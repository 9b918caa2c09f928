#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/mig_parted_file.h"
#include "layout/test_node.h"

namespace partita::layout {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const MigPartedFile& file) {
  std::vector<std::string> out;
  for (const auto& label : file.labels) out.push_back(label.name);
  return out;
}

TEST(Describe, JoinsEqualGpusAndCountsMigDevices) {
  auto node = test::node({"a100-sxm4-40gb", "a100-sxm4-40gb", "a100-sxm4-40gb", "gb10"}, true);
  for (const int i : {0, 2}) {
    test::add(node.gpus[static_cast<std::size_t>(i)], "3g.20gb", i == 0 ? 4 : 0, {"1c.3g.20gb", "1c.3g.20gb"});
    test::add(node.gpus[static_cast<std::size_t>(i)], "1g.5gb", i == 0 ? 0 : 4);
  }
  EXPECT_EQ(write_mig_parted(describe(node, "current")), R"(version: v1
mig-configs:
  current:
  - devices: [0, 2]
    mig-enabled: true
    mig-devices:
      1c.3g.20gb: 2
      1g.5gb: 1
  - devices: [1]
    mig-enabled: true
    mig-devices: {}
  - devices: [3]
    mig-enabled: false
)");
}

TEST(Describe, AllWhereAllAreAlikeAndUnknownStatesAreLeftOut) {
  auto node = test::node({"a30-24gb", "a30-24gb"});
  EXPECT_EQ(describe(node, "x").labels[0].entries[0].devices, std::nullopt);
  node.gpus[1].fault = "lost";
  EXPECT_EQ(describe(node, "x").labels[0].entries[0].devices, std::vector{0});
}

// What a node is, asked of it again, changes nothing: the same instances are wanted.
TEST(Describe, ResolvesToWhatIsThere) {
  auto node = test::node({"a100-sxm4-40gb", "rtx-pro-6000-server"}, true);
  test::add(node.gpus[0], "4g.20gb", 0, {"2c.4g.20gb", "1c.4g.20gb"});
  test::add(node.gpus[0], "1g.5gb+me", 6);
  test::add(node.gpus[1], "1g.24gb+me.all", 0);
  test::add(node.gpus[1], "1g.24gb-me", 3);
  const auto file = read_mig_parted(write_mig_parted(describe(node, "current")), "f");
  ASSERT_TRUE(file) << file.error().message;
  const auto target = resolve(file->labels[0], node, "f");
  ASSERT_TRUE(target) << target.error().message;
  for (std::size_t g = 0; g < 2; ++g) {
    std::vector<std::pair<int, std::vector<int>>> wanted, there;
    for (const auto& w : *target->gpus[g].instances) wanted.emplace_back(w.profile, w.compute);
    for (const auto& i : node.gpus[g].instances) {
      there.emplace_back(i.profile, std::vector<int>{});
      for (const auto& c : i.compute) there.back().second.push_back(c.profile);
      std::ranges::sort(there.back().second);
    }
    EXPECT_THAT(wanted, ::testing::UnorderedElementsAreArray(there));
  }
}

TEST(Generate, LabelsOfOneBoard) {
  const auto file = generate(test::node({"a100-sxm4-40gb", "a100-sxm4-40gb"}));
  EXPECT_THAT(names(file), ElementsAre("all-disabled", "all-enabled", "all-1g.5gb", "all-1g.5gb.me", "all-1g.10gb",
                                       "all-2g.10gb", "all-3g.20gb", "all-4g.20gb", "all-7g.40gb", "all-balanced"));
  const auto& balanced = (*file.label("all-balanced"))->entries;
  ASSERT_EQ(balanced.size(), 1u);
  EXPECT_TRUE(balanced[0].filters.empty());
  EXPECT_EQ(*balanced[0].mig_devices,
            (std::vector<std::pair<std::string, int>>{{"1g.5gb", 2}, {"2g.10gb", 1}, {"3g.20gb", 1}}));
  EXPECT_EQ((*file.label("all-1g.5gb.me"))->entries[0].mig_devices->at(0),
            (std::pair<std::string, int>{"1g.5gb+me", 1}));
}

TEST(Generate, FiltersWhereBoardsDiffer) {
  const auto file = generate(test::node({"a100-sxm4-80gb", "a30-24gb", "gb10", "h100-sxm5-80gb"}));
  const auto& shared = (*file.label("all-1g.10gb"))->entries;
  ASSERT_EQ(shared.size(), 1u);
  ASSERT_EQ(shared[0].filters.size(), 2u);
  EXPECT_EQ(shared[0].filters[0].text, "0x20B210DE");
  EXPECT_EQ(shared[0].filters[1].text, "0x233010DE");
  EXPECT_EQ((*file.label("all-balanced"))->entries.size(), 2u);
  EXPECT_EQ((*file.label("all-enabled"))->entries[0].filters.size(), 3u) << "one GPU has no MIG";
  EXPECT_TRUE((*file.label("all-disabled"))->entries[0].filters.empty());
  EXPECT_THAT(names(generate(test::node({"gb10"}))), ElementsAre("all-disabled"));
}

// Each generated label can be read back and resolved on the node it was made for, on every board.
TEST(Generate, EveryLabelResolvesOnEveryBoard) {
  auto catalog = catalog::Catalog::open();
  for (const auto& entry : catalog->boards()) {
    const auto node = test::node({entry.id, entry.id});
    const auto text = write_mig_parted(generate(node));
    const auto file = read_mig_parted(text, entry.id);
    ASSERT_TRUE(file) << file.error().message;
    for (const auto& label : file->labels) {
      const auto target = resolve(label, node, entry.id);
      ASSERT_TRUE(target) << target.error().message;
      EXPECT_EQ(target->gpus.size(), 2u);
      EXPECT_TRUE(target->warnings.empty());
    }
  }
}

}  // namespace
}  // namespace partita::layout
