// Random nodes and requirements against brute force over all places.
#include <gtest/gtest.h>

#include <bit>
#include <span>

#include "lease/choose.h"
#include "lease/test_lease.h"
#include "plan/test_random.h"

namespace partita::lease {
namespace {

using namespace plan::test;
using plan::Geometry;
using plan::Placed;

struct Wish {
  api::Requirement requirement;
  Constraints constraints;
  int profile = 0;  // of each GPU's board
  std::vector<int> compute;
};

// The fewest GPU instances destroyed on this GPU for the wish, by trying every place beside every set of instances that
// may stay; nullopt: none works.
std::optional<int> fewest_destroyed(const layout::Gpu& gpu, const Geometry& geometry, const Wish& wish) {
  std::optional<int> best;
  for (const auto& place : geometry.profiles()[static_cast<std::size_t>(wish.profile)].placements) {
    if (wish.requirement.start && *wish.requirement.start != place.start) continue;
    for (std::uint32_t stay = 0; stay < (1U << gpu.instances.size()); ++stay) {
      std::vector<Placed> after;
      bool serves = false;
      bool pins_kept = true;
      for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
        const auto& live = gpu.instances[i];
        if (((stay >> i) & 1U) == 0) {
          pins_kept = pins_kept && !live.pinned();
          continue;
        }
        after.push_back({live.profile, live.placement.start});
        serves = serves || (!live.pinned() && after.back() == Placed{wish.profile, place.start});
      }
      if (!serves) after.push_back({wish.profile, place.start});
      if (!pins_kept || !plan::valid(geometry, after)) continue;
      const int destroyed = static_cast<int>(gpu.instances.size()) - std::popcount(stay);
      best = std::min(best.value_or(destroyed), destroyed);
    }
  }
  return best;
}

bool contains(const std::vector<std::string>& list, const std::string& what) {
  return std::ranges::find(list, what) != list.end();
}

bool may_be_used(const layout::Gpu& gpu, const Wish& wish) {
  if (gpu.fault || !gpu.mode->current || contains(wish.constraints.closed_gpus, gpu.uuid)) return false;
  if (wish.requirement.gpu && *wish.requirement.gpu != gpu.uuid) return false;
  if (wish.constraints.same_gpu && *wish.constraints.same_gpu != gpu.uuid) return false;
  return !wish.requirement.exclusive_gpu || (!contains(wish.constraints.occupied_gpus, gpu.uuid) &&
                                             std::ranges::none_of(gpu.instances, &layout::GpuInstance::pinned));
}

Wish random_wish(const catalog::Board& board, const Geometry& geometry, const layout::NodeState& state) {
  Wish wish;
  wish.profile = draw(0, static_cast<int>(board.profiles.size()));
  const auto& profile = board.profiles[static_cast<std::size_t>(wish.profile)];
  wish.requirement.profile = profile.name;
  wish.compute = {static_cast<int>(profile.compute.size()) - 1};
  if (chance(20)) {
    wish.requirement.bare = true;
    wish.compute.clear();
  } else if (profile.compute_slices > 1 && chance(30)) {
    wish.requirement.compute = {"1c", "1c"};
    wish.compute = {0, 0};
  }
  const auto any_gpu = [&] {
    return state.gpus[static_cast<std::size_t>(draw(0, static_cast<int>(state.gpus.size())))].uuid;
  };
  if (chance(25)) {
    wish.requirement.gpu = any_gpu();
    const auto& places = geometry.profiles()[static_cast<std::size_t>(wish.profile)].placements;
    if (chance(50))
      wish.requirement.start = places[static_cast<std::size_t>(draw(0, static_cast<int>(places.size())))].start;
  }
  if (chance(15)) {
    wish.requirement.exclusive_gpu = true;
    for (const auto& gpu : state.gpus)
      if (chance(30)) wish.constraints.occupied_gpus.push_back(gpu.uuid);
  } else if (chance(15) && !wish.requirement.gpu) {
    wish.requirement.same_gpu_as = "other";
    wish.constraints.same_gpu = any_gpu();
  }
  if (chance(20)) wish.constraints.closed_gpus.push_back(any_gpu());
  return wish;
}

std::vector<int> compute_of(const layout::GpuInstance& live) {
  std::vector<int> compute;
  for (const auto& ci : live.compute) compute.push_back(ci.profile);
  std::ranges::sort(compute);
  return compute;
}

void check_choice(const layout::NodeState& state, const Geometry& geometry, const Wish& wish, const Choice& choice) {
  const auto& gpu = *std::ranges::find(state.gpus, choice.gpu, &layout::Gpu::uuid);
  RC_ASSERT(may_be_used(gpu, wish));

  const auto after = plan::replay(gpu, geometry, choice.plan.steps);
  RC_ASSERT(after.has_value());

  // What is pinned is as it was, compute instances and all.
  for (const auto& live : gpu.instances) {
    if (!live.pinned()) continue;
    const auto same = std::ranges::find_if(*after, [&](const auto& now) {
      return now.profile == live.profile && now.placement == live.placement && compute_of(now) == compute_of(live);
    });
    RC_ASSERT(same != after->end());
  }
  std::vector<Placed> placed;
  for (const auto& live : *after) placed.push_back({live.profile, live.placement.start});
  RC_ASSERT(plan::valid(geometry, placed));

  std::ranges::sort(placed, {}, &Placed::start);
  RC_ASSERT(placed == choice.plan.result);

  // The instance is there, with what was asked, and nobody else's.
  const auto made =
      std::ranges::find_if(*after, [&](const auto& live) { return live.placement.start == choice.start; });
  RC_ASSERT(made != after->end());

  RC_ASSERT(made->profile == wish.profile);

  RC_ASSERT(compute_of(*made) == wish.compute);

  RC_ASSERT(choice.compute == wish.compute);

  RC_ASSERT((!wish.requirement.start || *wish.requirement.start == choice.start));
  for (const auto& live : gpu.instances) RC_ASSERT((!live.pinned() || live.placement.start != choice.start));
}

void check_board(const catalog::Board& board) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check([&] {
    layout::NodeState state;
    const int gpus = draw(1, 4);
    for (int g = 0; g < gpus; ++g) {
      state.gpus.push_back(random_gpu(board, geometry, draw(0, 14), draw(0, 100), true, g));
      if (chance(8)) state.gpus.back().fault = "lost";
      if (chance(8)) state.gpus.back().mode = layout::MigMode{false, false};
    }
    const auto wish = random_wish(board, geometry, state);
    std::optional<int> fewest;
    bool idle = false, idle_in_use = false;
    for (const auto& gpu : state.gpus) {
      if (!may_be_used(gpu, wish)) continue;
      const bool in_use = std::ranges::any_of(gpu.instances, &layout::GpuInstance::pinned);
      if (const auto n = fewest_destroyed(gpu, geometry, wish)) fewest = std::min(fewest.value_or(*n), *n);
      for (const auto& live : gpu.instances) {
        const bool serves = !live.pinned() && live.profile == wish.profile && compute_of(live) == wish.compute &&
                            (!wish.requirement.start || live.placement.start == *wish.requirement.start);
        idle = idle || serves;
        idle_in_use = idle_in_use || (serves && in_use);
      }
    }
    const auto choice = choose(state, wish.requirement, wish.constraints);
    RC_ASSERT(choice.has_value() == fewest.has_value());

    if (!choice) {
      RC_ASSERT(choice.error().code == ErrorCode::no_space);

      RC_ASSERT(!choice.error().details.empty());

      return;
    }
    // Beside an idle one something is cut only where a free GPU stays whole by it.
    const auto& chosen = *std::ranges::find(state.gpus, choice->gpu, &layout::Gpu::uuid);
    if (choice->plan.changes())
      RC_ASSERT((!idle || (!idle_in_use && std::ranges::any_of(chosen.instances, &layout::GpuInstance::pinned))));
    else
      RC_ASSERT(idle);

    RC_ASSERT(choice->plan.gpu_instances_destroyed == *fewest);

    check_choice(state, geometry, wish, *choice);
  }));
}

bool any_pinned(const layout::Gpu& gpu) { return std::ranges::any_of(gpu.instances, &layout::GpuInstance::pinned); }

// Leases come and go on eight GPUs. One goes to a GPU on which nothing is pinned only when no other has room for it
// that destroys as little.
void check_sequences(const catalog::Board& board, const std::vector<std::string>& profiles) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check([&] {
    layout::NodeState state;
    for (int g = 0; g < 8; ++g) state.gpus.push_back(TestGpu(board, g));
    const int steps = draw(1, 60);
    for (int n = 0; n < steps; ++n) {
      if (chance(35)) {
        auto& gpu = state.gpus[static_cast<std::size_t>(draw(0, 8))];
        if (!gpu.instances.empty())
          gpu.instances[static_cast<std::size_t>(draw(0, static_cast<int>(gpu.instances.size())))].pins.clear();
        continue;
      }
      Wish wish;
      wish.requirement.profile = profiles[static_cast<std::size_t>(draw(0, static_cast<int>(profiles.size())))];
      wish.profile =
          static_cast<int>(std::ranges::find(board.profiles, wish.requirement.profile, &catalog::Profile::name) -
                           board.profiles.begin());
      const auto choice = choose(state, wish.requirement, {});
      if (!choice) continue;
      const auto& gpu = *std::ranges::find(state.gpus, choice->gpu, &layout::Gpu::uuid);
      if (!any_pinned(gpu))
        for (const auto& other : state.gpus) {
          const auto destroyed = fewest_destroyed(other, geometry, wish);
          RC_ASSERT((!any_pinned(other) || !destroyed || *destroyed > choice->plan.gpu_instances_destroyed));
        }
      state = test::take(std::move(state), *choice, std::to_string(n));
    }
  }));
}

// The most instances that can be had at once on a GPU beside what is pinned, each one of `candidates`.
int most_together(const Geometry& geometry, std::vector<Placed> placed, std::span<const Placed> candidates) {
  int most = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    placed.push_back(candidates[i]);
    if (plan::valid(geometry, placed))
      most = std::max(most, 1 + most_together(geometry, placed, candidates.subspan(i + 1)));
    placed.pop_back();
  }
  return most;
}

// Of one request for several, one is placed after the other: as many find a place as could be placed together.
void check_bundles(const catalog::Board& board, bool by_memory) {
  const Geometry geometry(board);
  EXPECT_TRUE(rc::check([&] {
    layout::NodeState state;
    const int gpus = draw(1, 4);
    for (int g = 0; g < gpus; ++g) state.gpus.push_back(random_gpu(board, geometry, draw(0, 8), draw(0, 100), true, g));
    const auto& wanted = board.profiles[static_cast<std::size_t>(draw(0, static_cast<int>(board.profiles.size())))];
    api::Requirement requirement;
    if (by_memory)
      requirement.memory = wanted.memory;
    else
      requirement.profile = wanted.name;
    std::vector<Placed> candidates;
    for (std::size_t p = 0; p < board.profiles.size(); ++p) {
      const auto& profile = board.profiles[p];
      if (by_memory ? profile.memory >= wanted.memory && profile.name.find('+') == std::string::npos
                    : profile.name == wanted.name)
        for (const auto& place : geometry.profiles()[p].placements)
          candidates.push_back({static_cast<int>(p), place.start});
    }
    int most = 0;
    for (const auto& gpu : state.gpus) {
      std::vector<Placed> pinned;
      for (const auto& live : gpu.instances)
        if (live.pinned()) pinned.push_back({live.profile, live.placement.start});
      most += most_together(geometry, pinned, candidates);
    }
    int placed = 0;
    while (placed <= most) {
      const auto choice = choose(state, requirement, {});
      if (!choice) break;
      state = test::take(std::move(state), *choice, std::to_string(placed++));
    }
    RC_ASSERT(placed == most);
  }));
}

TEST(ChooseProperty, AsManyAsCanBePlacedTogetherFindAPlace) {
  for (const bool by_memory : {false, true}) {
    check_bundles(test::a100(), by_memory);
    check_bundles(test::a30(), by_memory);
  }
  check_bundles(plan::test::rtx_pro_6000(), false);
}

TEST(ChooseProperty, SequencesArePacked) {
  check_sequences(plan::test::a100(), {"1g.10gb", "2g.20gb", "3g.40gb"});
  check_sequences(plan::test::a30(), {"1g.6gb", "2g.12gb"});
}

TEST(ChooseProperty, A100) { check_board(plan::test::a100()); }
TEST(ChooseProperty, A30) { check_board(plan::test::a30()); }
TEST(ChooseProperty, RtxPro) { check_board(plan::test::rtx_pro_6000()); }

}  // namespace
}  // namespace partita::lease
