// GPUs that are lost do not tell what they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lease/test_lease.h"

namespace partita::lease {
namespace {

using testing::HasSubstr;

// An A100 that works and one that fell off the bus.
layout::NodeState half_lost() {
  const layout::Gpu good = plan::test::TestGpu(test::a100());
  layout::Gpu lost;
  lost.index = 1;
  lost.fault = "lost";
  return test::node({good, lost});
}

TEST(LostGpu, IsNamedWhenNothingElseServes) {
  for (const bool by_board : {false, true}) {
    api::Requirement wanted = test::profile("3g.40gb");
    wanted.gpu = "1";
    if (by_board) wanted.board = test::a100().id;
    const auto size = size_of(half_lost(), wanted);
    ASSERT_FALSE(size) << by_board;
    EXPECT_EQ(size.error().code, ErrorCode::unavailable) << size.error().message;
    EXPECT_THAT(size.error().message, HasSubstr("GPU 1: lost"));
    const auto choice = choose(half_lost(), wanted, {});
    ASSERT_FALSE(choice) << by_board;
    EXPECT_THAT(choice.error().message, HasSubstr("GPU 1: lost"));
  }
  // By its UUID, which it does not tell now.
  api::Requirement wanted = test::profile("3g.40gb");
  wanted.gpu = "GPU-unseen";
  EXPECT_EQ(size_of(half_lost(), wanted).error().code, ErrorCode::unavailable);
}

TEST(LostGpu, IsNoHindranceToTheOthers) {
  api::Requirement wanted = test::profile("3g.40gb");
  wanted.board = test::a100().id;
  EXPECT_TRUE(choose(half_lost(), wanted, {}));
  wanted.board = "h100-sxm5-80gb";
  EXPECT_FALSE(choose(half_lost(), wanted, {}));
}

// What counts against a quota is a GPU that there is.
TEST(LostGpu, IsNotTheSizeOfAWholeGpu) {
  api::Requirement whole;
  whole.whole_gpu = true;
  const auto size = size_of(half_lost(), whole);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->compute_slices, test::a100().compute_slices);
}

// A larger one than was asked for only as far as the quota goes.
TEST(Quota, BoundsWhatASizeTakes) {
  const layout::Gpu gpu = plan::test::TestGpu(test::a100());
  api::Requirement wanted;
  wanted.memory = gib(5);
  Constraints constraints;
  constraints.most = Size{1, gib(10)};
  EXPECT_TRUE(choose(test::node({gpu}), wanted, constraints));
  constraints.most = Size{1, gib(9)};
  EXPECT_FALSE(choose(test::node({gpu}), wanted, constraints)) << "the smallest has 10 GiB";
}

}  // namespace
}  // namespace partita::lease
