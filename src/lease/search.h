// The search behind choose(). Inside lease/ only.
#pragma once

#include <optional>
#include <vector>

#include "lease/choose.h"
#include "lease/shapes.h"

namespace partita::lease {

// Can this GPU take the lease at all, by its mode, its fault and other leases?
bool usable(const layout::Gpu& gpu, const api::Requirement& requirement, const Constraints& constraints);

// The idle instances (by their position on the GPU) that must go for an instance at this place: those it overlaps, and
// the fewest more that rules of counts demand. nullopt: something pinned is in the way. An instance of the same profile
// at the same place stays: its compute instances are recut.
std::optional<std::vector<std::size_t>> in_the_way(const layout::Gpu& gpu, const plan::Geometry& geometry,
                                                   const plan::Placed& place);

// `internal` or `impossible` only when the chosen shape cannot be cut.
Result<std::optional<Choice>> search(const layout::NodeState& state, const api::Requirement& requirement,
                                     const Constraints& constraints, const Shapes& shapes, Geometries& geometries);

}  // namespace partita::lease
