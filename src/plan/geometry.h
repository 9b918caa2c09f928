// A board compiled for planning: masks instead of lists. Immutable, cheap to copy by reference.
//
// Rules that a set of instances on one GPU must meet (hardware facts sections 2, 3 and 7):
//  - placements do not overlap, and each start is in its profile's list;
//  - no profile occurs more often than its max_instances;
//  - at most one +me instance (the OFA and the shared JPEG engine are single);
//  - beside an instance with +me.all only -me instances exist;
//  - at most 8 GPU instances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "catalog/board.h"

namespace partita::plan {

using SliceMask = std::uint32_t;  // bit i = placement unit i

struct GeometryPlacement {
  int start = 0;
  SliceMask mask = 0;
};

struct GeometryProfile {
  std::vector<GeometryPlacement> placements;  // ascending start
  int size = 0;                               // placement units
  int compute_slices = 0;
  int max_instances = 0;
  bool me = false, me_all = false, no_me = false;
};

class Geometry {
 public:
  explicit Geometry(const catalog::Board& board);

  const std::vector<GeometryProfile>& profiles() const { return profiles_; }
  int units() const { return units_; }

 private:
  std::vector<GeometryProfile> profiles_;
  int units_ = 0;
};

// An instance at a place.
struct Placed {
  int profile = 0;  // index in Board::profiles
  int start = 0;
  auto operator<=>(const Placed&) const = default;
};

// Do these obey all rules above? The independent check that tests and node/ use on every plan.
bool valid(const Geometry& geometry, std::span<const Placed> instances);

// How many (profile, start) pairs could still be created beside these: the openness that plans maximise.
int open_placements(const Geometry& geometry, std::span<const Placed> instances);

}  // namespace partita::plan
