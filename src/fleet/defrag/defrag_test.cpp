// Defragmentation against every possible set of moves, and against an account of its own.
#include "fleet/defrag/defrag.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

#include "fleet/exact/test_instances.h"

namespace partita::fleet {
namespace {

using Is = DefragInstance::Is;

struct Case {
  std::vector<DefragGpu> gpus;
  DefragGoal goal;
};

// GPUs filled at random, holes in them, some instances fixed, some held.
Case random_case(const std::string& id, std::size_t gpus, std::size_t most_instances, std::mt19937& random) {
  const auto board = test::board(id);
  const plan::Geometry geometry(*board);
  std::vector<int> plain;
  for (std::size_t p = 0; p < board->profiles.size(); ++p)
    if (board->profiles[p].attributes == catalog::Attributes{} || random() % 4 == 0)
      if (!board->profiles[p].placements.empty()) plain.push_back(static_cast<int>(p));
  Case out;
  std::size_t left = most_instances;
  for (std::size_t g = 0; g < gpus; ++g) {
    DefragGpu gpu{board, {}, {}};
    std::vector<plan::Placed> placed;
    for (int tries = 0; tries < 4 && left > 0; ++tries) {
      const int p = plain[random() % plain.size()];
      const auto& starts = board->profiles[static_cast<std::size_t>(p)].placements;
      placed.push_back({p, starts[random() % starts.size()]});
      if (!plan::valid(geometry, placed)) {
        placed.pop_back();
        continue;
      }
      --left;
      gpu.instances.push_back({placed.back(), std::array{Is::fixed, Is::idle, Is::idle, Is::held}[random() % 4]});
    }
    std::ranges::sort(gpu.instances, {}, [](const auto& i) { return i.placed.start; });
    out.gpus.push_back(std::move(gpu));
  }
  out.goal.named = random() % 2 == 0;
  if (out.goal.named) {
    const int wanted = plain[random() % plain.size()];
    for (auto& gpu : out.gpus) gpu.wanted = wanted;
    if (random() % 2 == 0) out.goal.enough = static_cast<std::int64_t>(random() % 4);
  }
  if (random() % 2 == 0) out.goal.most_moves = static_cast<std::int64_t>(random() % 4);
  return out;
}

// How many of a profile could be created beside these, at starts from `from` on: all sets of places.
int room_beside(const plan::Geometry& geometry, std::vector<plan::Placed> placed, int profile, int from = 0) {
  int best = 0;
  for (const auto& place : geometry.profiles()[static_cast<std::size_t>(profile)].placements) {
    if (place.start < from) continue;
    placed.push_back({profile, place.start});
    if (plan::valid(geometry, placed))
      best = std::max(best, 1 + room_beside(geometry, placed, profile, place.start + 1));
    placed.pop_back();
  }
  return best;
}

using Placing = std::vector<std::vector<plan::Placed>>;  // per GPU

std::int64_t room_of(const Case& one, const plan::Geometry& geometry, const Placing& placing) {
  std::int64_t sum = 0;
  const auto& profiles = one.gpus.front().board->profiles;
  for (std::size_t g = 0; g < placing.size(); ++g) {
    if (one.goal.named) {
      sum += room_beside(geometry, placing[g], *one.gpus[g].wanted);
      continue;
    }
    for (std::size_t p = 0; p < profiles.size(); ++p)
      if (profiles[p].attributes == catalog::Attributes{} && !profiles[p].placements.empty())
        sum += room_beside(geometry, placing[g], static_cast<int>(p)) * profiles[p].memory_slices;
  }
  return sum;
}

struct Score {
  std::int64_t room = 0, held = 0, moves = 0;
  bool better_than(const Score& other) const {
    return std::tuple(-room, held, moves) < std::tuple(-other.room, other.held, other.moves);
  }
};

// Each movable instance stays or goes anywhere.
class Exhaustive {
 public:
  explicit Exhaustive(const Case& one) : one_(one), geometry_(*one.gpus.front().board) {
    placing_.resize(one.gpus.size());
    for (std::size_t g = 0; g < one.gpus.size(); ++g)
      for (const auto& instance : one.gpus[g].instances) {
        if (instance.is == Is::fixed)
          placing_[g].push_back(instance.placed);
        else
          movable_.push_back({g, instance});
      }
  }
  Score best() {
    place(0, {});
    return *best_;
  }

 private:
  void place(std::size_t i, Score score) {
    if (one_.goal.most_moves >= 0 && score.moves > one_.goal.most_moves) return;
    if (i == movable_.size()) {
      score.room = room_of(one_, geometry_, placing_);
      if (one_.goal.named && one_.goal.enough >= 0) score.room = std::min(score.room, one_.goal.enough);
      if (!best_ || score.better_than(*best_)) best_ = score;
      return;
    }
    const auto& [home, instance] = movable_[i];
    for (std::size_t g = 0; g < placing_.size(); ++g)
      for (const auto& at : geometry_.profiles()[static_cast<std::size_t>(instance.placed.profile)].placements) {
        placing_[g].push_back({instance.placed.profile, at.start});
        const bool stays = g == home && at.start == instance.placed.start;
        if (plan::valid(geometry_, placing_[g]))
          place(i + 1, {0, score.held + (!stays && instance.is == Is::held ? 1 : 0), score.moves + (stays ? 0 : 1)});
        placing_[g].pop_back();
      }
  }

  const Case& one_;
  plan::Geometry geometry_;
  Placing placing_;
  std::vector<std::pair<std::size_t, DefragInstance>> movable_;
  std::optional<Score> best_;
};

// Does the plan move what may be moved, to legal places, and is the room as told?
std::string wrong_with(const Case& one, const DefragPlan& plan) {
  const plan::Geometry geometry(*one.gpus.front().board);
  Placing placing;
  for (const auto& gpu : one.gpus) {
    auto& here = placing.emplace_back();
    for (const auto& instance : gpu.instances) here.push_back(instance.placed);
  }
  if (room_of(one, geometry, placing) != plan.room_before) return "room before";
  std::int64_t held = 0;
  for (const auto& move : plan.moves) {
    const auto& from = one.gpus[static_cast<std::size_t>(move.from)].instances;
    if (std::ranges::find(from, DefragInstance{move.before, move.is}) == from.end()) return "moves what is not there";
    if (move.is == Is::fixed) return "moves what is fixed";
    if (move.before.profile != move.after.profile) return "another profile";
    held += move.is == Is::held ? 1 : 0;
    auto& here = placing[static_cast<std::size_t>(move.from)];
    here.erase(std::ranges::find(here, move.before));
  }
  for (const auto& move : plan.moves) placing[static_cast<std::size_t>(move.to)].push_back(move.after);
  for (const auto& here : placing)
    if (!plan::valid(geometry, here)) return "not a legal layout";
  if (held != plan.held_moved) return "held moved";
  if (one.goal.most_moves >= 0 && static_cast<std::int64_t>(plan.moves.size()) > one.goal.most_moves)
    return "too many moves";
  if (room_of(one, geometry, placing) != plan.room_after) return "room after";
  return "";
}

TEST(Defrag, no_set_of_moves_is_better) {
  for (const auto* id : {"a30-24gb", "a100-sxm4-40gb", "rtx-pro-6000-server"}) {
    EXPECT_TRUE(rc::check([&] {
      const auto seed = *rc::gen::arbitrary<std::uint32_t>();
      std::mt19937 random(seed);
      const auto one = random_case(id, 1 + random() % 3, 4, random);
      const auto plan = defragment(one.gpus, one.goal);
      RC_ASSERT(plan.has_value());
      RC_ASSERT(wrong_with(one, *plan) == "");
      RC_ASSERT(plan->proven);
      const auto best = Exhaustive(one).best();
      auto room = plan->room_after;
      if (one.goal.named && one.goal.enough >= 0) room = std::min(room, one.goal.enough);
      RC_ASSERT(room == best.room);
      RC_ASSERT(plan->held_moved == best.held);
      RC_ASSERT(static_cast<std::int64_t>(plan->moves.size()) == best.moves);
    })) << id;
  }
}

TEST(Defrag, plans_of_nodes_are_what_they_say) {
  for (const auto* id : {"a30-24gb", "h100-sxm5-80gb", "rtx-pro-6000-server"}) {
    EXPECT_TRUE(rc::check([&] {
      std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
      const auto one = random_case(id, 8, 40, random);
      const auto plan = defragment(one.gpus, one.goal);
      RC_ASSERT(plan.has_value());
      RC_ASSERT(wrong_with(one, *plan) == "");
      RC_ASSERT(plan->room_after >= plan->room_before || one.goal.enough >= 0);
    })) << id;
  }
}

TEST(Defrag, a_lone_small_instance_makes_way_for_a_large_one) {
  const auto board = test::board("a100-sxm4-40gb");
  const auto named = [&](const std::string& name) {
    for (std::size_t p = 0; p < board->profiles.size(); ++p)
      if (board->profiles[p].name == name) return static_cast<int>(p);
    return -1;
  };
  const int one = named("1g.5gb");
  const int large = named("7g.40gb");
  std::vector<DefragGpu> gpus{{board, {{{one, 0}, Is::idle}}, large}, {board, {{{one, 2}, Is::fixed}}, large}};
  const auto plan = defragment(gpus, {.named = true}).value();
  EXPECT_EQ(plan.room_before, 0);
  EXPECT_EQ(plan.room_after, 1);
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].to, 1);
  EXPECT_EQ(defragment(gpus, {.named = true, .most_moves = 0}).value().room_after, 0);
}

TEST(Defrag, large_fleets_cost_by_kinds) {
  std::mt19937 random(5);
  auto one = random_case("a100-sxm4-40gb", 12, 40, random);
  one.goal = {};
  const auto kinds = one.gpus;
  for (int i = 0; i < 200; ++i) one.gpus.insert(one.gpus.end(), kinds.begin(), kinds.end());
  const auto plan = defragment(one.gpus, one.goal, WorkLimits{50, {}}).value();
  EXPECT_EQ(wrong_with(one, plan), "");
  EXPECT_GT(plan.room_after, plan.room_before);
}

TEST(Defrag, what_a_board_does_not_allow_is_refused) {
  const auto board = test::board("a30-24gb");
  EXPECT_EQ(defragment({{board, {{{0, 0}, Is::idle}, {{0, 0}, Is::idle}}, {}}}, {}).error().code, ErrorCode::invalid);
}

}  // namespace
}  // namespace partita::fleet
