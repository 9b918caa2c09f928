#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plan/fit.h"
#include "plan/test_random.h"

namespace partita::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using namespace test;

Error explain(const catalog::Board& board, const std::vector<Pinned>& pinned, const std::vector<int>& counts) {
  return explain_no_fit(board, Geometry(board), pinned, counts);
}

std::vector<int> one(int profile, int n = 1, std::size_t profiles = 7) {
  std::vector<int> counts(profiles);
  counts[static_cast<std::size_t>(profile)] = n;
  return counts;
}

TEST(Explain, Case5NamesTheBlockerAndTheMoveThatHelps) {
  const std::vector<Pinned> pinned{
      {{k1g, 0}, "lease bob", true}, {{k1g, 1}, "lease carol", true}, {{k1g, 5}, "lease alice", true}};
  const auto error = explain(a100("h100-sxm5-80gb"), pinned, one(k3g));
  EXPECT_EQ(error.code, ErrorCode::no_space);
  EXPECT_THAT(error.message, HasSubstr("it needs slices 0-3 or 4-7"));
  EXPECT_THAT(error.message, HasSubstr("4-7 is blocked by 1g.10gb@5 (lease alice)"));
  EXPECT_THAT(error.message, HasSubstr("moving 1g.10gb@5 (lease alice) to @2 makes it fit at @4"));
  EXPECT_THAT(error.details, Contains("3g.40gb@4 (slices 4-7) is blocked by 1g.10gb@5 (lease alice)"));
}

TEST(Explain, ABusyInstanceMustStopBeforeItMoves) {
  const std::vector<Pinned> pinned{{{k1g, 0}, "lease bob", true}, {{k1g, 5}, "pid 4711 (python)", false}};
  const auto error = explain(a100(), pinned, one(k3g, 2));
  EXPECT_EQ(error.code, ErrorCode::no_space);
  EXPECT_THAT(error.message, HasSubstr("8 memory slices asked, 6 free"));
  EXPECT_THAT(error.message, HasSubstr("no move helps; releasing"));
  const auto single =
      explain(a100(), {{{k1g, 0}, "pid 1 (a)", false}, {{k1g, 5}, "pid 4711 (python)", false}}, one(k3g));
  EXPECT_THAT(single.message, HasSubstr("must stop using it"));
}

TEST(Explain, MovableInstancesAreMovedFirst) {
  // Either half could be cleared: the left one by a process's instance, the right one by a lease's.
  const auto error = explain(a100(), {{{k1g, 0}, "pid 1", false}, {{k1g, 5}, "lease alice", true}}, one(k3g));
  EXPECT_THAT(error.message, HasSubstr("moving 1g.10gb@5 (lease alice)"));
  EXPECT_THAT(error.message, ::testing::Not(HasSubstr("must stop")));
}

TEST(Explain, ImpossibleNamesWhatIsShort) {
  const auto why = [](const catalog::Board& board, const std::vector<int>& counts) {
    const auto error = explain(board, {}, counts);
    EXPECT_EQ(error.code, ErrorCode::impossible) << error.message;
    return error.message;
  };
  EXPECT_THAT(why(a100(), one(k3g, 3)), HasSubstr("12 memory slices asked, it has 8"));
  EXPECT_THAT(why(a100(), one(k1g, 8)), HasSubstr("8 compute slices asked, it has 7"));
  EXPECT_THAT(why(a100(), one(k1g_me, 2)), HasSubstr("at most 1 1g.10gb+me"));
  catalog::Board odd;
  odd.id = "odd";
  odd.placement_units = odd.memory_slices = odd.compute_slices = 4;
  odd.profiles = {profile("middle", 2, 2, 2, {1}, 1), profile("half", 2, 2, 2, {0, 2}, 2)};
  EXPECT_THAT(why(odd, {1, 1}), HasSubstr("the places where these profiles may start overlap"));
  EXPECT_THAT(why(odd, {0, 0, 1}), HasSubstr("no such profile"));
}

TEST(Explain, MediaRulesAreNamed) {
  std::vector<int> two_me(5);
  two_me[kA30_1g_me] = two_me[kA30_2g_me] = 1;
  EXPECT_THAT(explain(a30(), {}, two_me).message, HasSubstr("at most one +me instance"));
  const auto held = explain(a30(), {{{kA30_1g_me, 0}, "lease alice", true}}, one(kA30_2g_me, 1, 5));
  EXPECT_EQ(held.code, ErrorCode::no_space);
  EXPECT_THAT(held.message, HasSubstr("1g.6gb+me@0 (lease alice)"));
  EXPECT_THAT(held.message, HasSubstr("releasing 1g.6gb+me@0 (lease alice)"));
  const auto all = explain(rtx_pro_6000(), {{{kR1g, 0}, "pid 7", false}}, one(kR1g_all, 1, 11));
  EXPECT_THAT(all.message, HasSubstr("owns every media engine"));
  EXPECT_THAT(all.message, HasSubstr("1g.24gb@0 (pid 7)"));
}

void check_every_answer(const catalog::Board& board) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check("an explanation tells impossible from no space, and always says what would help", [&] {
    std::vector<Pinned> pinned;
    std::vector<Placed> places;
    for (const auto& at : random_state(geometry, draw(0, 6))) {
      pinned.push_back({at, "lease " + std::to_string(pinned.size()), chance(50)});
      places.push_back(at);
    }
    const auto counts = random_counts(geometry, 4);
    if (fits(geometry, places, counts)) return;
    const auto error = explain_no_fit(board, geometry, pinned, counts);
    const bool ever = fits(geometry, {}, counts);
    RC_ASSERT(error.code == (ever ? ErrorCode::no_space : ErrorCode::impossible));
    if (ever)
      RC_ASSERT(error.message.find("mov") != std::string::npos || error.message.find("releasing") != std::string::npos);
  }));
}

TEST(Explain, AlwaysHelpsOnSevenSlices) { check_every_answer(a100()); }
TEST(Explain, AlwaysHelpsOnA30) { check_every_answer(a30()); }
TEST(Explain, AlwaysHelpsOnRtxPro) { check_every_answer(rtx_pro_6000()); }

}  // namespace
}  // namespace partita::plan
