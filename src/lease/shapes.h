// What serves a requirement on each GPU of a node, wherever it then goes. Inside lease/ only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/lease.h"
#include "base/error.h"
#include "layout/layout.h"
#include "lease/choose.h"

namespace partita::lease {

struct Shape {
  int profile = 0;           // index in the GPU's board
  std::vector<int> compute;  // indices in Profile::compute, ascending; empty: bare
  std::optional<std::string> spelled_here;
};

// One size: what has it on each GPU, in the node's order. nullopt: this GPU does not serve.
struct Tier {
  int compute_slices = 0;
  Bytes memory;
  std::vector<std::optional<Shape>> on_gpu;
  const Shape* on(std::size_t gpu) const {
    const auto& shape = on_gpu[gpu];
    return shape ? &*shape : nullptr;
  }
};

struct Shapes {
  std::vector<bool> eligible;  // per GPU: the requirement's gpu, board and same GPU allow it
  std::vector<Tier> tiers;     // smallest first; one for a profile, none for a whole GPU
};

// MIG mode and other leases are not looked at. `not_found`, `invalid` or `impossible` when no GPU could ever serve;
// `unavailable` when those that could cannot be asked now, because they are lost.
Result<Shapes> shapes_of(const layout::NodeState& state, const api::Requirement& requirement,
                         const std::optional<std::string>& same_gpu);

// Without what is larger.
void keep_within(Shapes& shapes, const layout::NodeState& state, const std::optional<Size>& most);

}  // namespace partita::lease
