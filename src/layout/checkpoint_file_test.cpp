#include "layout/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/test_node.h"

namespace partita::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeState sample() {
  auto node = test::node({"a100-sxm4-40gb", "rtx-pro-6000-server", "gb10"}, true);
  test::add(node.gpus[0], "3g.20gb", 4, {"2c.3g.20gb", "1c.3g.20gb"});
  test::add(node.gpus[0], "1g.5gb+me", 0);
  test::add(node.gpus[0], "2g.10gb", 2, {});
  test::add(node.gpus[1], "1g.24gb-me", 9);
  return node;
}

TEST(Checkpoint, ReadsBackTheExactState) {
  const auto node = sample();
  const auto target = read_checkpoint(write_checkpoint(node), "c.json", node);
  ASSERT_TRUE(target) << target.error().message;
  ASSERT_EQ(target->gpus.size(), 3u);
  const auto& a100 = target->gpus[0];
  ASSERT_EQ(a100.instances->size(), 3u);
  EXPECT_EQ(a100.instances->at(0).profile, test::profile(*node.gpus[0].board, "3g.20gb"));
  EXPECT_EQ(a100.instances->at(0).start, 4);
  EXPECT_THAT(a100.instances->at(0).compute, ElementsAre(0, 1));
  EXPECT_THAT(*a100.instances->at(0).compute_starts, ElementsAre(2, 0));
  EXPECT_EQ(a100.instances->at(1).profile, test::profile(*node.gpus[0].board, "1g.5gb+me"));
  EXPECT_TRUE(a100.instances->at(2).compute.empty()) << "a bare GPU instance stays bare";
  EXPECT_EQ(target->gpus[1].instances->at(0).start, 9);
  EXPECT_FALSE(target->gpus[2].mig_enabled);
}

TEST(Checkpoint, ANewSpellingDoesNoHarm) {
  auto node = sample();
  const auto text = write_checkpoint(node);
  auto board = *node.gpus[0].board;
  for (auto& profile : board.profiles) profile.name += "x";
  node.gpus[0].board = std::make_shared<catalog::Board>(board);
  EXPECT_TRUE(read_checkpoint(text, "c.json", node));
}

TEST(Checkpoint, OtherNodesAreRefused) {
  const auto text = write_checkpoint(sample());
  auto gone = sample();
  gone.gpus[1].uuid = "GPU-other";
  const auto missing = read_checkpoint(text, "c.json", gone);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("gpus[1]: GPU \"GPU-1\" of the checkpoint is not on this node"));
  EXPECT_EQ(missing.error().details.size(), 3u);
  auto other = sample();
  other.gpus[0].pci_device_id = 0x20B210DE;
  const auto differs = read_checkpoint(text, "c.json", other);
  ASSERT_FALSE(differs);
  EXPECT_EQ(differs.error().code, ErrorCode::not_found);
  EXPECT_THAT(differs.error().message, HasSubstr("was a board with device id \"0x20B010DE\", now it has 0x20B210DE"));
}

TEST(Checkpoint, UnknownStatesAreLeftAlone) {
  auto node = sample();
  node.gpus[0].fault = "lost";
  const auto target = read_checkpoint(write_checkpoint(node), "c.json", sample());
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->gpus.size(), 2u);
  EXPECT_THAT(target->warnings, ElementsAre("c.json: GPU 0 was \"lost\" at the checkpoint: left alone"));
}

TEST(Checkpoint, WrongTextsAreRefused) {
  struct Change {
    const char *from, *to, *expected;
  };
  const auto good = write_checkpoint(sample());
  for (const auto& [from, to, expected] : std::initializer_list<Change>{
           {"partita-checkpoint-v1", "v1", "c.json:2: version: expected partita-checkpoint-v1, found \"v1\""},
           {"\"start\": 4", "\"start\": 3", "gpus[0].instances[0].start: 3g.20gb cannot start at 3"},
           {"\"start\": 4", "\"start\": 0", "gpus[0].instances[1]: 1g.5gb+me@0 overlaps another instance"},
           {"\"memory_slices\": 4", "\"memory_slices\": 3",
            "NVIDIA A100-SXM4-40GB has no profile of 3 compute slices and 3 memory slices with these attributes"},
           {"\"me\"", "\"you\"", "expected me, me_all, gfx or no_me, found \"you\""},
           {"\"compute_slices\": 2,\n              \"start\": 0", "\"compute_slices\": 2,\n              \"start\": 1",
            "2c.3g.20gb cannot start at 1"},
           {"\"start\": 2\n            }", "\"start\": 1\n            }",
            "1c.3g.20gb at 1 overlaps another compute instance"},
           {"\"nvml_profile\": 1", "\"nvml_profile\": 4",
            "no compute instance of 2 slices with profile number 4 in 3g.20gb"},
           {"\"uuid\": \"GPU-1\"", "\"uuid\": \"GPU-0\"", "GPU GPU-0 was a board with"},
           {"\"mig_enabled\": true", "\"mig_enabled\": false",
            "gpus[0].instances: expected none where mig_enabled is false"},
           {"\"mig_enabled\": true", "\"mig_enabled\": 1", "expected true or false, found \"1\""},
           {"\"index\"", "\"indx\"", "unknown key \"indx\"; did you mean index?"}}) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from << "\n" << good;
    text.replace(text.find(from), std::string_view(from).size(), to);
    const auto read = read_checkpoint(text, "c.json", sample());
    ASSERT_FALSE(read) << to;
    EXPECT_THAT(read.error().message, HasSubstr(expected));
    EXPECT_THAT(read.error().message, HasSubstr("c.json:"));
  }
  EXPECT_FALSE(read_checkpoint(good.substr(0, good.size() / 2), "c.json", sample()));
}

}  // namespace
}  // namespace partita::layout
