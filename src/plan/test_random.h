// Random states and wishes for property tests; draws are rapidcheck's, so a failure prints its seed and shrinks.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/test_boards.h"

namespace partita::plan::test {

// low <= n < high, from the first test on (rapidcheck's own ranges start small).
inline int draw(int low, int high) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high)); }
inline bool chance(int percent) { return draw(0, 100) < percent; }

// A valid set of instances: draws places, keeps those that are valid.
inline std::vector<Placed> random_state(const Geometry& geometry, int tries) {
  std::vector<Placed> state;
  for (int i = 0; i < tries; ++i) {
    const auto p = draw(0, static_cast<int>(geometry.profiles().size()));
    const auto& places = geometry.profiles()[static_cast<std::size_t>(p)].placements;
    state.push_back({p, places[static_cast<std::size_t>(draw(0, static_cast<int>(places.size())))].start});
    if (!valid(geometry, state)) state.pop_back();
  }
  return state;
}

inline std::vector<int> random_counts(const Geometry& geometry, int most) {
  std::vector<int> counts(geometry.profiles().size());
  const int n = draw(0, most + 1);
  for (int i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(draw(0, static_cast<int>(counts.size())))];
  return counts;
}

// A GPU in a random valid state, each instance busy, leased or idle; `cuts`: some with other compute instances.
inline TestGpu random_gpu(const catalog::Board& board, const Geometry& geometry, int tries, int pinned_percent,
                          bool cuts, int index = 0) {
  TestGpu gpu(board, index);
  int n = 0;
  for (const auto& at : random_state(geometry, tries)) {
    const bool pinned = chance(pinned_percent);
    gpu.with(at.profile, at.start,
             !pinned      ? State::idle
             : chance(50) ? State::busy
                          : State::leased,
             "holder" + std::to_string(++n));
    const auto slices = board.profiles[static_cast<std::size_t>(at.profile)].compute_slices;
    if (!cuts || !chance(50)) continue;
    std::vector<std::pair<int, int>> compute;
    for (int i = 0; i < slices && slices > 1; ++i)
      if (chance(60)) compute.emplace_back(0, i);
    gpu.cut(at.start, compute);
  }
  return gpu;
}

}  // namespace partita::plan::test
