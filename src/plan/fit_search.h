// The search behind fit(), transition() and pack(). Inside plan/ only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plan/geometry.h"

namespace partita::plan {

struct BestFit {
  std::vector<Placed> placed;  // by start
  int open = 0;                // placements open afterwards, pinned ones included in the state
};

// fit() together with the openness it reaches.
std::optional<BestFit> best_fit(const Geometry& geometry, std::span<const Placed> pinned, std::span<const int> counts);

}  // namespace partita::plan
