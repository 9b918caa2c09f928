// Can a multiset of profiles be placed on one GPU beside pinned instances? Exact.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/geometry.h"

namespace partita::plan {

// counts[p] = how many of profile p; its length is that of geometry.profiles(). Returns where each goes (sorted by
// start), choosing among all placings one that keeps the most placements open (ties: highest starts first, so low
// aligned space stays whole), or nullopt when no placing exists. Allocates once. Median <= 2 us.
std::optional<std::vector<Placed>> fit(const Geometry& geometry, std::span<const Placed> pinned,
                                       std::span<const int> counts);

// The same question, yes or no.
bool fits(const Geometry& geometry, std::span<const Placed> pinned, std::span<const int> counts);

// An instance that stays where it is, for explanations.
struct Pinned {
  Placed placed;
  std::string holder;    // "pid 4711 (python)", "lease alice-train"
  bool movable = false;  // idle: could be moved by us or its holder
};

// Why `counts` does not fit beside `pinned`: `impossible` when even an empty GPU of this board cannot hold it (names
// the slices or the cap that is short), else `no_space` with: slices asked and free, each wanted profile's possible
// placements and who blocks them (with holders), and the cheapest set of moves (fewest that are not movable, then
// fewest, then smallest instances) after which it fits, with where each would go; where no move helps, what to release.
// Never called when it fits.
Error explain_no_fit(const catalog::Board& board, const Geometry& geometry, std::span<const Pinned> pinned,
                     std::span<const int> counts);

}  // namespace partita::plan
