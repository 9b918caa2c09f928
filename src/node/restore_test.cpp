// Whatever was applied, restoring a checkpoint of what was before leads back to exactly that.
#include <rapidcheck.h>

#include "node/test_support.h"

namespace partita::node {
namespace {

// As many of each profile as random numbers say and the driver's plan allows.
std::string random_wish(const catalog::Board& board) {
  std::vector<std::string> parts;
  for (const catalog::Profile& profile : board.profiles) {
    const int count = *rc::gen::inRange(0, 3);
    if (count > 0) parts.push_back("\"" + profile.name + "\": " + std::to_string(count));
  }
  return join(parts, ", ");
}

TEST(Restore, AfterAnyApplyIsTheIdentity) {
  EmulatedWorld world("gpus: [{board: h100-sxm5-80gb}, {board: a30-24gb}]");
  int changed = 0;
  EXPECT_TRUE(rc::check([&] {
    for (const char* gpu : {"[0]", "[1]"}) {
      const auto board = world.state().gpus.at(gpu[1] == '0' ? 0 : 1).board;
      (void)world.apply(world.cut(gpu, random_wish(*board)));
    }
    const layout::NodeState before = value(world.open()->state());
    const std::string checkpoint = layout::write_checkpoint(before);
    for (const char* gpu : {"[0]", "[1]"}) {
      const auto board = world.state().gpus.at(gpu[1] == '0' ? 0 : 1).board;
      if (*rc::gen::inRange(0, 5) == 0)
        (void)world.apply(world.off(gpu));
      else
        (void)world.apply(world.cut(gpu, random_wish(*board)));
    }
    if (layout::write_checkpoint(value(world.open()->state())) != checkpoint) ++changed;
    world.must_apply({world.administrator(), api::CheckpointRequest{checkpoint, "before.json"}, {}});
    RC_ASSERT(layout::write_checkpoint(value(world.open()->state())) == checkpoint);
  }));
  EXPECT_GT(changed, 20) << "the applies in between changed too little to show anything";
}

}  // namespace
}  // namespace partita::node
