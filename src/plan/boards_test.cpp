// The reported situations, on every board of the catalog.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "catalog/catalog.h"
#include "plan/fit.h"
#include "plan/pack.h"
#include "plan/test_random.h"
#include "plan/transition.h"

namespace partita::plan {
namespace {

using ::testing::HasSubstr;
using namespace test;

// Runs `check` on each board that has MIG.
template <class Check>
void on_every_board(Check check) {
  auto catalog = catalog::Catalog::open();
  ASSERT_TRUE(catalog) << catalog.error().message;
  int boards = 0;
  for (const auto& entry : catalog->boards()) {
    const auto board = catalog->board(entry.id);
    ASSERT_TRUE(board) << board.error().message;
    if (!(*board)->has_mig()) continue;
    SCOPED_TRACE(entry.id);
    ++boards;
    check(**board, Geometry(**board));
  }
  EXPECT_GE(boards, 28);
}

// The smallest and the largest profile without +me; ties: the first.
int smallest(const catalog::Board& board) {
  const auto found = std::ranges::min_element(board.profiles, {}, &catalog::Profile::placement_size);
  return static_cast<int>(found - board.profiles.begin());
}
int largest(const catalog::Board& board) {
  const auto found = std::ranges::max_element(board.profiles, {}, &catalog::Profile::placement_size);
  return static_cast<int>(found - board.profiles.begin());
}

std::vector<int> counts_of(const catalog::Board& board, int profile, int n) {
  std::vector<int> counts(board.profiles.size());
  counts[static_cast<std::size_t>(profile)] = n;
  return counts;
}

TEST(EveryBoard, HoldsEachProfileAsOftenAsItSays) {
  on_every_board([](const catalog::Board& board, const Geometry& geometry) {
    for (int p = 0; p < static_cast<int>(board.profiles.size()); ++p) {
      const auto& profile = board.profiles[static_cast<std::size_t>(p)];
      EXPECT_TRUE(fits(geometry, {}, counts_of(board, p, 1))) << profile.name;
      const auto many = fit(geometry, {}, counts_of(board, p, profile.max_instances));
      ASSERT_TRUE(many) << profile.name;
      EXPECT_TRUE(valid(geometry, *many)) << profile.name;
      EXPECT_FALSE(fits(geometry, {}, counts_of(board, p, profile.max_instances + 1))) << profile.name;
    }
  });
}

TEST(EveryBoard, OneTooManyIsImpossible) {
  on_every_board([](const catalog::Board& board, const Geometry& geometry) {
    for (int p = 0; p < static_cast<int>(board.profiles.size()); ++p) {
      const auto& profile = board.profiles[static_cast<std::size_t>(p)];
      const auto error = explain_no_fit(board, geometry, {}, counts_of(board, p, profile.max_instances + 1));
      EXPECT_EQ(error.code, ErrorCode::impossible);
      EXPECT_THAT(error.message, HasSubstr(profile.name));
    }
  });
}

// As case 5: the whole GPU is asked, one small leased instance is in the way.
TEST(EveryBoard, WhoIsInTheWayIsNamed) {
  on_every_board([](const catalog::Board& board, const Geometry& geometry) {
    const int small = smallest(board);
    const int start = board.profiles[static_cast<std::size_t>(small)].placements.front();
    const std::vector<Pinned> pinned{{{small, start}, "lease alice", true}};
    const auto error = explain_no_fit(board, geometry, pinned, counts_of(board, largest(board), 1));
    EXPECT_EQ(error.code, ErrorCode::no_space);
    const auto held = board.profiles[static_cast<std::size_t>(small)].name + "@" + std::to_string(start);
    EXPECT_THAT(error.message, HasSubstr(held + " (lease alice)"));
    EXPECT_THAT(error.message, HasSubstr("releasing " + held));
  });
}

// As cases 7 and 9: a busy instance stays, the others of its kind are created beside it.
TEST(EveryBoard, ABusyInstanceStays) {
  on_every_board([](const catalog::Board& board, const Geometry& geometry) {
    const int small = smallest(board);
    const auto& profile = board.profiles[static_cast<std::size_t>(small)];
    for (const int start : profile.placements) {
      const auto gpu = TestGpu(board).with(small, start, State::busy);
      const auto plan = transition(gpu, geometry, want_counts(board, counts_of(board, small, profile.max_instances)));
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(plan->kept, (std::vector<Placed>{{small, start}}));
      EXPECT_EQ(plan->gpu_instances_destroyed, 0);
      EXPECT_EQ(plan->gpu_instances_created, profile.max_instances - 1);
    }
  });
}

// As case 27: an idle instance makes room for two small ones; the other GPUs are not touched.
TEST(EveryBoard, OnlyWhatIsInTheWayIsDestroyed) {
  on_every_board([](const catalog::Board& board, const Geometry&) {
    const int small = smallest(board);
    const int large = largest(board);
    const auto shared = std::make_shared<catalog::Board>(board);
    std::vector<layout::Gpu> gpus;
    for (int g = 0; g < 4; ++g) gpus.push_back(TestGpu(board, g).with(large, 0, g == 2 ? State::idle : State::busy));
    for (auto& gpu : gpus) gpu.board = shared;
    DemandItem two{"small", 2, {}};
    two.on_gpu.assign(4, want(board, small));
    const auto plan = pack(gpus, {&two, 1});
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->gpus.size(), 1U);
    EXPECT_EQ(plan->gpus[0].gpu, "GPU-2");
    EXPECT_EQ(plan->gpu_instances_destroyed, 1);
  });
}

TEST(EveryBoard, RandomPlansReplayKeepWhatIsPinnedAndUndo) {
  on_every_board([](const catalog::Board& board, const Geometry& geometry) {
    EXPECT_TRUE(rc::check([&] {
      const auto gpu = random_gpu(board, geometry, draw(0, 8), 30, true);
      const auto pinned = places(gpu, true);
      std::vector<layout::WantedInstance> wanted;
      for (const auto& live : gpu.get().instances) {
        if (!live.pinned()) continue;
        wanted.push_back(want(board, live.profile));
        wanted.back().compute.clear();
        for (const auto& ci : live.compute) wanted.back().compute.push_back(ci.profile);
      }
      for (const auto& at : random_state(geometry, draw(0, 4))) wanted.push_back(want(board, at.profile));
      const auto plan = transition(gpu, geometry, wanted);
      if (!plan) {
        RC_ASSERT(plan.error().code == ErrorCode::no_space || plan.error().code == ErrorCode::impossible);
        return;
      }
      const auto after = replay(gpu, geometry, plan->steps);
      RC_ASSERT(after.has_value());
      RC_ASSERT(valid(geometry, plan->result));
      for (const auto& at : pinned) RC_ASSERT(std::ranges::count(plan->kept, at) == 1);
      auto there = plan->steps;
      std::ranges::copy(undo(plan->steps), std::back_inserter(there));
      const auto back = replay(gpu, geometry, there);
      RC_ASSERT(back.has_value());
      auto restored = gpu.get();
      restored.instances = *back;
      RC_ASSERT(places(restored) == places(gpu));
    }));
  });
}

}  // namespace
}  // namespace partita::plan
