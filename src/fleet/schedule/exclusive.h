// Profiles that are never on one GPU together, wherever they are: two with media engines, a profile that there is once.
#pragma once

#include <vector>

#include "plan/geometry.h"

namespace partita::fleet {

class Exclusive {
 public:
  explicit Exclusive(const plan::Geometry& geometry);
  // Of these two, on different units.
  bool operator()(int a, int b) const { return table_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]; }

 private:
  std::vector<std::vector<bool>> table_;
};

}  // namespace partita::fleet
