#include "fleet/schedule/exclusive.h"

#include <array>

namespace partita::fleet {

namespace {

// What goes together on some pair of places does so on all: rules beside overlap do not look at places.
bool exclude(const plan::Geometry& geometry, std::size_t a, std::size_t b) {
  for (const auto& one : geometry.profiles()[a].placements)
    for (const auto& other : geometry.profiles()[b].placements)
      if ((one.mask & other.mask) == 0) {
        const std::array<plan::Placed, 2> pair{{{static_cast<int>(a), one.start}, {static_cast<int>(b), other.start}}};
        return !valid(geometry, pair);
      }
  return false;
}

}  // namespace

Exclusive::Exclusive(const plan::Geometry& geometry) {
  const auto n = geometry.profiles().size();
  table_.assign(n, std::vector<bool>(n));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) table_[a][b] = exclude(geometry, a, b);
}

}  // namespace partita::fleet
