#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/compute_fill.h"
#include "layout/mig_parted_file.h"
#include "layout/test_node.h"

namespace partita::layout {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<NodeTarget> resolved(const NodeState& node, const std::string& entries) {
  const auto file = read_mig_parted("version: v1\nmig-configs:\n  x:\n" + entries, "f.yaml");
  EXPECT_TRUE(file) << file.error().message;
  return resolve(file->labels[0], node, "f.yaml");
}

std::string all(std::string_view devices) {
  return fmt::format("  - devices: all\n    mig-enabled: true\n    mig-devices: {}\n", devices);
}

// "3g.20gb[1c.3g.20gb 1c.3g.20gb]" per wanted instance.
std::vector<std::string> instances(const NodeState& node, const GpuTarget& target) {
  std::vector<std::string> out;
  const auto gpu = std::ranges::find(node.gpus, target.gpu, &Gpu::uuid);
  for (const auto& wanted : target.instances.value()) {
    const auto& profile = gpu->board->profiles[static_cast<std::size_t>(wanted.profile)];
    std::string text = profile.name + "[";
    for (const int c : wanted.compute)
      text += (text.ends_with('[') ? "" : " ") + profile.compute[static_cast<std::size_t>(c)].name;
    out.push_back(text + "]");
  }
  return out;
}

TEST(Resolve, GivesEachMatchedGpuItsInstances) {
  const auto node = test::node({"a100-sxm4-40gb", "a100-sxm4-40gb"});
  const auto target = resolved(node, all("{1g.5gb: 2, 3g.20gb: 1}"));
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_EQ(target->gpus.size(), 2u);
  EXPECT_EQ(target->gpus[1].gpu, "GPU-1");
  EXPECT_TRUE(target->gpus[0].mig_enabled);
  EXPECT_THAT(instances(node, target->gpus[0]), ElementsAre("1g.5gb[1g.5gb]", "1g.5gb[1g.5gb]", "3g.20gb[3g.20gb]"));
  EXPECT_THAT(target->warnings, IsEmpty());
}

TEST(Resolve, EnabledAndEmptyDiffersFromDisabled) {
  const auto node = test::node({"a100-sxm4-40gb"}, true);
  const auto empty = resolved(node, all("{}"));
  EXPECT_TRUE(empty->gpus[0].instances->empty());
  const auto disabled = resolved(node, "  - devices: all\n    mig-enabled: false\n");
  EXPECT_FALSE(disabled->gpus[0].mig_enabled);
  EXPECT_EQ(disabled->gpus[0].instances, std::nullopt);
}

TEST(Resolve, FiltersAndIndicesMustBothMatch) {
  const auto node = test::node({"a100-sxm4-40gb", "h100-sxm5-80gb", "a100-sxm4-40gb"});
  const auto target = resolved(
      node,
      "  - devices: all\n    device-filter: \"0x20B010DE\"\n    mig-enabled: true\n    mig-devices: {7g.40gb: 1}\n"
      "  - devices: [1, 2]\n    device-filter: [\"0x233010DE:0x134F10DE\"]\n    mig-enabled: true\n    mig-devices: "
      "{7g.80gb: 1}\n");
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_EQ(target->gpus.size(), 3u);
  EXPECT_THAT(instances(node, target->gpus[2]), ElementsAre("7g.80gb[7g.80gb]"));
  EXPECT_EQ(target->gpus[2].gpu, "GPU-1");
}

TEST(Resolve, NothingMatchedIsAnErrorThatListsTheDeviceIds) {
  const auto node = test::node({"a100-sxm4-40gb", "gb10"});
  for (const auto* filter : {"\"0x233010DE\"", "\"0x20B010DE:0x000010DE\""}) {
    const auto target = resolved(
        node,
        fmt::format("  - devices: all\n    device-filter: {}\n    mig-enabled: true\n    mig-devices: {{}}\n", filter));
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, ErrorCode::not_found);
    EXPECT_EQ(target.error().message, "f.yaml: label \"x\": matches no GPU of this node");
    EXPECT_THAT(target.error().details, ElementsAre("GPU 0: NVIDIA A100-SXM4-40GB 0x20B010DE:0x134F10DE",
                                                    "GPU 1: NVIDIA GB10 0x2E1210DE:0x134F10DE (no MIG)"));
  }
}

TEST(Resolve, AnEntryThatMatchesNothingBesideOthersIsAWarning) {
  const auto node = test::node({"a100-sxm4-40gb"});
  const auto target = resolved(
      node, all("{1g.5gb: 7}") + "  - devices: all\n    device-filter: \"0x233010DE\"\n    mig-enabled: false\n");
  ASSERT_TRUE(target);
  EXPECT_THAT(
      target->warnings,
      ElementsAre("f.yaml:7: label \"x\": this entry with device-filter 0x233010DE matches no GPU of this node"));
}

TEST(Resolve, SeveralEntriesThatMatchNothingAreOneWarning) {
  const std::string other = "  - devices: all\n    device-filter: \"0x233010DE\"\n    mig-enabled: false\n";
  const auto target = resolved(test::node({"a100-sxm4-40gb"}), all("{1g.5gb: 7}") + other + other);
  ASSERT_TRUE(target);
  EXPECT_THAT(target->warnings,
              ElementsAre("f.yaml: label \"x\": the entries on lines 7, 10 match no GPU of this node"));
}

TEST(Resolve, IndicesThatDoNotExistAreErrors) {
  const auto target = resolved(test::node({"a100-sxm4-40gb"}), "  - devices: [0, 3]\n    mig-enabled: false\n");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, ErrorCode::not_found);
  EXPECT_EQ(target.error().message, "f.yaml:4: label \"x\": devices: no GPU 3 on this node");
  EXPECT_EQ(target.error().details.size(), 1u);
}

TEST(Resolve, ALaterEntryMayRepeatButNotContradict) {
  const auto node = test::node({"a100-sxm4-40gb"});
  const auto same = resolved(node, all("{1g.5gb: 1, 2g.10gb: 1}") + all("{2g.10gb: 1, 1g.5gb: 1}"));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->gpus.size(), 1u);
  for (const auto& other : {all("{1g.5gb: 2}"), all("{}"), std::string("  - devices: [0]\n    mig-enabled: false\n")}) {
    const auto target = resolved(node, all("{1g.5gb: 1}") + other);
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, ErrorCode::invalid);
    EXPECT_EQ(target.error().message,
              "f.yaml:7: label \"x\": GPU 0 is asked to be something else by the entry on line 4");
  }
}

TEST(Resolve, NamesOfAnotherBoardAreErrors) {
  const auto target = resolved(test::node({"a100-sxm4-80gb"}), all("{1g.5gb: 7}"));
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, ErrorCode::not_found);
  EXPECT_THAT(target.error().message, HasSubstr("f.yaml:4: label \"x\": no profile \"1g.5gb\" on a100-sxm4-80gb"));
  EXPECT_THAT(target.error().message, HasSubstr("did you mean 1g.10gb?"));
}

TEST(Resolve, TheDriversSpellingIsAWarningOncePerBoard) {
  auto node = test::node({"gb200-186gb", "gb200-186gb"}, true);
  auto board = *node.gpus[0].board;
  board.profiles[0].name = board.profiles[0].compute[0].name = "1g.24gb";
  for (auto& gpu : node.gpus) gpu.board = std::make_shared<catalog::Board>(board);
  const auto target = resolved(node, all("{1g.23gb: 7}"));
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->gpus[0].instances->size(), 7u);
  EXPECT_THAT(target->warnings, ElementsAre("f.yaml:4: label \"x\": 1g.23gb is 1g.24gb on NVIDIA GB200"));
}

TEST(Resolve, FaultyGpusAreLeftAloneUnlessNamed) {
  auto node = test::node({"a100-sxm4-40gb", "a100-sxm4-40gb"});
  layout::Gpu lost;
  lost.index = 1;
  lost.fault = "lost";
  node.gpus[1] = lost;
  const auto target = resolved(node, all("{1g.5gb: 7}"));
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->gpus.size(), 1u);
  EXPECT_THAT(target->warnings, ElementsAre("f.yaml:4: label \"x\": GPU 1: lost: left alone"));
  const auto named = resolved(node, "  - devices: [1]\n    mig-enabled: false\n");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::driver);
  EXPECT_THAT(named.error().message, HasSubstr("GPU 1: lost; nothing can be changed on it, but the entry names it"));
}

TEST(Resolve, GpusWithoutMigAreLeftAloneUnlessNamed) {
  const auto node = test::node({"a100-sxm4-40gb", "gb10"});
  const auto target = resolved(node, all("{1g.5gb: 7}"));
  ASSERT_TRUE(target);
  EXPECT_EQ(target->gpus.size(), 1u);
  EXPECT_THAT(target->warnings, ElementsAre("f.yaml:4: label \"x\": GPU 1 (NVIDIA GB10) has no MIG: left alone"));
  const auto named = resolved(node, "  - devices: [1]\n    mig-enabled: true\n    mig-devices: {}\n");
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().message,
              HasSubstr("GPU 1 (NVIDIA GB10) has no MIG, but the entry names it with mig-enabled: true"));
  const auto only = resolved(test::node({"gb10"}), all("{}"));
  ASSERT_FALSE(only);
  EXPECT_THAT(only.error().message, HasSubstr("matches only GPUs on which MIG cannot be enabled"));
  const auto off = resolved(test::node({"gb10"}), "  - devices: all\n    mig-enabled: false\n");
  ASSERT_TRUE(off) << "off is what it is";
  EXPECT_FALSE(off->gpus[0].mig_enabled);
}

TEST(Resolve, GpusOfUnknownBoards) {
  auto node = test::node({"a100-sxm4-40gb"});
  node.gpus[0].board = nullptr;
  const auto target = resolved(node, "  - devices: [0]\n    mig-enabled: true\n    mig-devices: {}\n");
  ASSERT_FALSE(target);
  EXPECT_THAT(target.error().message, HasSubstr("is not in the catalog of boards"));
}

TEST(Resolve, CountsBeyondTheBoardNameItsLimit) {
  const auto node = test::node({"a100-sxm4-40gb"});
  const auto message = [&](std::string_view devices) {
    const auto target = resolved(node, all(devices));
    EXPECT_FALSE(target);
    EXPECT_EQ(target.error().code, ErrorCode::impossible);
    return target.error().message;
  };
  const std::string at = "f.yaml:4: label \"x\": GPU 0: NVIDIA A100-SXM4-40GB ";
  EXPECT_EQ(message("{1g.5gb: 8}"), at + "holds at most 7 GPU instances 1g.5gb");
  EXPECT_EQ(message("{1g.5gb+me: 2}"), at + "holds at most 1 GPU instance 1g.5gb+me");
  EXPECT_EQ(message("{4g.20gb: 1, 2g.10gb: 2}"), at + "has 7 compute slices, 8 are asked");
  EXPECT_EQ(message("{3g.20gb: 2, 1g.10gb: 1}"), at + "has 8 memory slices, 10 are asked");
  EXPECT_EQ(message("{1c.3g.20gb: 7}"), at + "holds at most 2 GPU instances 3g.20gb");
  EXPECT_TRUE(resolved(node, all("{4g.20gb: 1, 3g.20gb: 1}")));
}

TEST(Resolve, ComputeInstancesFillOneGpuInstanceAfterAnother) {
  const auto node = test::node({"a100-sxm4-40gb"});
  const auto of = [&](std::string_view devices) {
    const auto target = resolved(node, all(devices));
    return target ? instances(node, target->gpus[0]) : std::vector{target.error().message};
  };
  EXPECT_THAT(of("{1c.3g.20gb: 4}"), ElementsAre("3g.20gb[1c.3g.20gb 1c.3g.20gb 1c.3g.20gb]", "3g.20gb[1c.3g.20gb]"));
  EXPECT_THAT(of("{1c.3g.20gb: 1, 2c.3g.20gb: 1}"), ElementsAre("3g.20gb[1c.3g.20gb 2c.3g.20gb]"));
  EXPECT_THAT(of("{1c.3g.20gb: 2, 3g.20gb: 1}"), ElementsAre("3g.20gb[3g.20gb]", "3g.20gb[1c.3g.20gb 1c.3g.20gb]"));
  EXPECT_THAT(of("{2c.3g.20gb: 2}"), ElementsAre("3g.20gb[2c.3g.20gb]", "3g.20gb[2c.3g.20gb]"));
  EXPECT_THAT(of("{1c.7g.40gb: 7}"),
              ElementsAre("7g.40gb[1c.7g.40gb 1c.7g.40gb 1c.7g.40gb 1c.7g.40gb 1c.7g.40gb 1c.7g.40gb 1c.7g.40gb]"));
  EXPECT_THAT(of("{3c.3g.20gb: 1}"), ElementsAre("3g.20gb[3g.20gb]"));
}

TEST(ComputeFill, HoldsWhatPlacementsAllow) {
  const auto a100 = test::board("a100-sxm4-40gb");
  const auto& p7g = a100->profiles[6];  // 1c 2c 3c 4c 7c
  EXPECT_TRUE(holds(p7g, {3, 2}));      // 4c at 0, 3c at 4
  EXPECT_TRUE(holds(p7g, {2, 2}));
  EXPECT_TRUE(holds(p7g, {0, 1, 1, 1}));
  EXPECT_FALSE(holds(p7g, {3, 3}));
  EXPECT_FALSE(holds(p7g, {4, 0}));
  EXPECT_FALSE(holds(p7g, {1, 1, 1, 1}));
  EXPECT_TRUE(holds(p7g, {}));
  const auto filled = fill(p7g, {0, 4, 0});
  EXPECT_THAT(filled, ElementsAre(ElementsAre(4), ElementsAre(0, 0)));
}

}  // namespace
}  // namespace partita::layout
