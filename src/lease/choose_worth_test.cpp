// Among places that destroy nothing, on GPUs in use: the one after which the GPU is worth most for requests to come.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "catalog/catalog.h"
#include "fleet/online/policy_file.h"
#include "lease/choose.h"

namespace partita::lease {
namespace {

using plan::Placed;

// GPUs with leased instances only.
layout::NodeState node(const std::shared_ptr<const catalog::Board>& board, std::size_t gpus, std::mt19937& random) {
  const plan::Geometry geometry(*board);
  layout::NodeState out;
  for (std::size_t g = 0; g < gpus; ++g) {
    layout::Gpu gpu;
    gpu.index = static_cast<int>(g);
    gpu.uuid = "GPU-5a7d2b6c-0000-4000-8000-00000000000" + std::to_string(g);
    gpu.board = board;
    gpu.product = board->product;
    gpu.mode = layout::MigMode{true, true};
    std::vector<Placed> placed;
    for (std::size_t tries = 1 + random() % 4; tries > 0; --tries) {
      const auto p = random() % board->profiles.size();
      const auto& starts = board->profiles[p].placements;
      if (board->profiles[p].attributes != catalog::Attributes{} || p + 1 == board->profiles.size()) continue;
      placed.push_back({static_cast<int>(p), starts[random() % starts.size()]});
      if (!plan::valid(geometry, placed)) placed.pop_back();
    }
    std::ranges::sort(placed, {}, &Placed::start);
    for (const auto& each : placed) {
      const auto& profile = board->profiles[static_cast<std::size_t>(each.profile)];
      layout::GpuInstance live;
      live.profile = each.profile;
      live.placement = {each.start, profile.placement_size};
      live.pins.push_back({layout::Pin::Reason::leased, "lease a"});
      gpu.instances.push_back(std::move(live));
    }
    out.gpus.push_back(std::move(gpu));
  }
  return out;
}

TEST(ChooseWorth, TheGpuLosesLeastOfItsPotential) {
  auto catalog = catalog::Catalog::open().value();
  const auto board = catalog.board("a100-sxm4-40gb").value();
  const plan::Geometry geometry(*board);
  const fleet::Features features(board);
  const auto weights = fleet::shipped_weights(features).value();
  Geometries geometries;
  EXPECT_TRUE(rc::check([&] {
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    const auto state = node(board, 1 + random() % 4, random);
    const auto p = random() % board->profiles.size();
    api::Requirement requirement;
    requirement.profile = board->profiles[p].name;
    const auto loss_at = [&](const layout::Gpu& gpu, int start) -> std::optional<double> {
      std::vector<Placed> held;
      for (const auto& live : gpu.instances) held.push_back({live.profile, live.placement.start});
      const double before = features.value(held, weights);
      held.push_back({static_cast<int>(p), start});
      if (!plan::valid(geometry, held)) return std::nullopt;
      return before - features.value(held, weights);
    };
    std::optional<double> least;  // on GPUs in use
    for (const auto& gpu : state.gpus)
      for (const int start : board->profiles[p].placements)
        if (const auto loss = loss_at(gpu, start); loss && !gpu.instances.empty())
          least = std::min(least.value_or(*loss), *loss);
    const auto choice = find_place(state, requirement, {}, geometries);
    RC_ASSERT(choice.has_value());
    if (!least) return;  // a free GPU, or none
    RC_ASSERT(choice->has_value());
    const auto chosen = std::ranges::find(state.gpus, (*choice)->gpu, &layout::Gpu::uuid);
    RC_ASSERT(!chosen->instances.empty());
    RC_ASSERT(*loss_at(*chosen, (*choice)->start) <= *least + 1e-5);
  }));
}

}  // namespace
}  // namespace partita::lease
