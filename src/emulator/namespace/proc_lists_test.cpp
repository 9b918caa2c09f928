#include "emulator/namespace/proc_lists.h"

#include <gtest/gtest.h>

namespace partita::emulator {
namespace {

constexpr const char* kMachine =
    "Character devices:\n  1 mem\n 10 misc\n195 nvidia\n226 drm\n508 nvidia-uvm\n\nBlock devices:\n  7 loop\n";
constexpr const char* kNode =
    "Character devices:\n195 nvidia\n195 nvidiactl\n236 nvidia-caps\n510 nvidia-uvm\n\nBlock devices:\n";

TEST(ProcLists, DevicesOfTheNodeStandAmongThoseOfTheMachine) {
  EXPECT_EQ(devices_with(kMachine, kNode),
            "Character devices:\n  1 mem\n 10 misc\n195 nvidia\n195 nvidiactl\n226 drm\n236 nvidia-caps\n510 "
            "nvidia-uvm\n\nBlock devices:\n  7 loop\n");
}

TEST(ProcLists, DevicesOfAViewInAViewAreThoseOfTheInnerNode) {
  const std::string outer = devices_with("Character devices:\n  1 mem\n\nBlock devices:\n", kNode);
  EXPECT_EQ(devices_with(outer, kNode), outer);
}

TEST(ProcLists, ANumberIsTakenByWhoeverHasItForCharacters) {
  EXPECT_TRUE(numbers_taken(kMachine, kNode));
  EXPECT_TRUE(numbers_taken("Character devices:\n236 mydriver\n", kNode));
  EXPECT_FALSE(numbers_taken("Character devices:\n  1 mem\n508 nvidia-uvm\n\nBlock devices:\n236 disk\n", kNode));
}

TEST(ProcLists, ModulesOfTheDriverComeFirstAndOnce) {
  const std::string text =
      modules_with("ext4 1 0 - Live 0x0\nnvidia_drm 2 0 - Live 0x0\nnvidia 3 1 nvidia_drm, Live 0x0\n");
  EXPECT_EQ(text.find("nvidia_drm"), std::string::npos);
  EXPECT_TRUE(text.starts_with("nvidia_uvm "));
  EXPECT_NE(text.find("\nnvidia "), std::string::npos);
  EXPECT_TRUE(text.ends_with("\next4 1 0 - Live 0x0\n"));
}

}  // namespace
}  // namespace partita::emulator
