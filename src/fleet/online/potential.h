// How good the state of a GPU is for what is yet to come: a weighted sum of simple features of its layout. An instance
// goes where the sum over the fleet falls least.
//
// Features follow from the board's placements alone: boards with the same placements have the same list, and can use
// the same weights. A region is a run of cells (plan/geometry.h; on most boards a memory slice) that some profile takes
// whole, at least two of them; its halves are two regions that make it up. Regions are named by their first and last
// cell, "all" is the whole GPU.
//   instances, compute, media     how many instances, compute slices in use, +me instances
//   free R                        nothing in region R
//   part R                        smallest regions: neither free nor full
//   one R, two R, three R         exactly so many instances in R (three: the whole GPU only; a single one that fills
//                                 the whole GPU does not count)
//   free R one S, free R many S   of two halves, R is free and S has one, or at least two instances
//   free R two S, one R one S     and exactly two; one in each
//   1 left of NxC, 2 left of NxC  exactly so many free ones of the N places of a profile of C cells
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fleet/online/online_states.h"

namespace partita::fleet {

// One weight per feature, in the order of Features::names().
struct Potential {
  std::vector<double> weights;
};

class Features {
 public:
  explicit Features(std::shared_ptr<const catalog::Board> board);
  const std::vector<std::string>& names() const { return names_; }
  // One number per feature.
  std::vector<double> of(std::span<const plan::Placed> placed) const;
  // Their weighed sum.
  double value(std::span<const plan::Placed> placed, const Potential& potential) const;

 private:
  struct Region {
    plan::SliceMask mask = 0;
    std::string name;
    bool smallest = false, whole = false;
  };
  struct Halves {
    std::size_t first = 0, second = 0;  // regions
  };
  static constexpr std::size_t kMostRegions = 64;
  struct Tally;
  Tally count(std::span<const plan::Placed> placed) const;
  // Goes through the features in their order; `emit` gets a function that makes the name, and the value.
  template <class Emit>
  void walk(std::span<const plan::Placed> placed, const Emit& emit) const;
  template <class Emit>
  void walk_region(std::size_t region, const Tally& tally, const Emit& emit) const;
  template <class Emit>
  void walk_halves(std::size_t first, std::size_t second, const Tally& tally, const Emit& emit) const;
  void find_regions();

  std::shared_ptr<const catalog::Board> board_;
  plan::Geometry geometry_;
  std::vector<Region> regions_;  // largest first, then by first slice
  std::vector<Halves> halves_;
  std::vector<std::size_t> counted_shapes_;  // in Geometry::shapes()
  std::vector<std::string> names_;
};

// All features of all states, one row per state: what tuning computes once.
class FeatureTable {
 public:
  FeatureTable(const GpuStates& states, const Features& features);
  // Does a feature tell any two states apart?
  bool varies(std::size_t feature) const;
  // The potential of every state.
  std::vector<double> potentials(const Potential& potential) const;

 private:
  std::size_t columns_;
  std::vector<double> values_;
};

}  // namespace partita::fleet
