// Nodes for this folder's tests.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lease/choose.h"
#include "plan/test_boards.h"

namespace partita::lease::test {

inline layout::NodeState node(std::vector<layout::Gpu> gpus) {
  layout::NodeState state;
  state.gpus = std::move(gpus);
  return state;
}

// The A100 of plan's tests, with memory and SMs.
inline catalog::Board a100() {
  auto board = plan::test::a100();
  board.product = "NVIDIA A100-SXM4-80GB";
  board.total_memory = gib(80);
  for (auto& profile : board.profiles) {
    profile.memory = gib(10 * static_cast<std::uint64_t>(profile.memory_slices));
    profile.sm = profile.compute_slices * 14;
  }
  return board;
}

inline catalog::Board a30() {
  auto board = plan::test::a30();
  board.product = "NVIDIA A30";
  for (auto& profile : board.profiles) {
    profile.memory = gib(6 * static_cast<std::uint64_t>(profile.memory_slices));
    profile.sm = profile.compute_slices * 14;
  }
  return board;
}

inline api::Requirement profile(std::string name) {
  api::Requirement requirement;
  requirement.profile = std::move(name);
  return requirement;
}

// The node after the choice, its instance held by `lease`. Uses replay(), which checks each step.
inline layout::NodeState take(layout::NodeState state, const Choice& choice, const std::string& lease) {
  const auto gpu = std::ranges::find(state.gpus, choice.gpu, &layout::Gpu::uuid);
  if (choice.whole_gpu) return state;
  gpu->instances = plan::replay(*gpu, plan::Geometry(*gpu->board), choice.plan.steps).value();
  for (auto& live : gpu->instances)
    if (live.placement.start == choice.start && live.profile == choice.profile)
      live.pins.push_back({layout::Pin::Reason::leased, "lease " + lease});
  return state;
}

}  // namespace partita::lease::test
