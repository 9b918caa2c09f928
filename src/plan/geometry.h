// A board compiled for planning: masks instead of lists. Immutable, cheap to copy by reference.
//
// Rules that a set of instances on one GPU must meet (hardware facts sections 2, 3 and 7):
//  - placements do not overlap, and each start is in its profile's list;
//  - no profile occurs more often than its max_instances;
//  - at most one +me instance (the OFA and the shared JPEG engine are single);
//  - beside an instance with +me.all only -me instances exist;
//  - at most 8 GPU instances.
// Each rule that holds for a set holds for all its subsets: plans may create in any order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "catalog/board.h"

namespace partita::plan {

using SliceMask = std::uint32_t;  // bit i = placement unit i

inline constexpr int kMaxProfiles = 64;     // NVML knows 17; profiles beyond are never placed
inline constexpr int kMaxGpuInstances = 8;  // per GPU
inline constexpr int kMaxPlacementUnits = 32;

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
  int shape = 0;  // index in Geometry::shapes()
};

// Profiles with the same placements have one shape: which of them sits where makes no difference to the space left.
struct Shape {
  int size = 0;                           // placement units
  std::vector<GeometryPlacement> places;  // masks in cells, descending start
};

class Geometry {
 public:
  explicit Geometry(const catalog::Board& board);

  const std::vector<GeometryProfile>& profiles() const { return profiles_; }
  int units() const { return units_; }

  // For the searches. A cell is a run of placement units that every placement covers together (RTX PRO: 3 units), so
  // that all states of a GPU can be tabulated.
  const std::vector<Shape>& shapes() const { return shapes_; }  // largest first, then fewest places
  SliceMask to_cells(SliceMask units) const;
  SliceMask cells_of(int profile, int start) const;
  int cells() const { return cells_; }
  // Units covered by an instance at `start`, whether or not the start is in the profile's list.
  SliceMask units_of(int profile, int start) const;
  bool legal(int profile, int start) const;
  // How many places of each shape are free when `occupied` cells are taken; shapes().size() numbers.
  const std::uint8_t* free_places(SliceMask occupied) const {
    return free_.data() + static_cast<std::size_t>(occupied) * shapes_.size();
  }

 private:
  void find_cells();
  void find_shapes();
  void tabulate();

  std::vector<GeometryProfile> profiles_;
  std::vector<Shape> shapes_;
  std::array<std::uint8_t, kMaxPlacementUnits> cell_of_unit_{};
  std::vector<std::uint8_t> free_;
  int units_ = 0;
  int cells_ = 0;
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
