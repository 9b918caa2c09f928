// Packing onto empty boards with 7 compute and 8 memory slices (A100, H100, H200, B200 and others), by arithmetic.
//
// A GPU that a 7-slice instance does not take is a left half (units 0-3) and a right half (4-7). A 4-slice instance
// takes a left half, a 3-slice one either. What is left are aligned pairs (0-1, 2-3, 4-5), each good for one 2-slice
// instance, one 1-slice instance with double memory or two 1-slice ones, and tail pairs (6-7), each good for one of the
// latter two (unit 7 starts nothing). Exact: equal to enumeration of all placings and to the integer program (tests).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fleet/exact/fleet.h"

namespace partita::fleet {

// How many of each: 1 slice, 1 slice with double memory, 2, 3, 4, 7 slices. Each at most kMostInstances.
struct SevenSliceCounts {
  std::int64_t one = 0, one_double = 0, two = 0, three = 0, four = 0, seven = 0;
};

bool packable(const SevenSliceCounts& counts, std::int64_t gpus);
// Constant time: a few dozen evaluations of packable().
std::int64_t least_gpus(const SevenSliceCounts& counts);

// Which profile of a board is which; -1: none.
struct SevenSliceProfiles {
  int one = -1, one_double = -1, two = -1, three = -1, four = -1, seven = -1;
};
// nullopt: the board's placements are others. Profiles with attributes are left out.
std::optional<SevenSliceProfiles> seven_slice_profiles(const catalog::Board& board);

struct PackedGpus {
  std::int64_t count = 0;
  std::vector<plan::Placed> instances;  // by start
};
// `gpus` must hold the counts. At most a few dozen groups, of GPUs that hold something.
std::vector<PackedGpus> pack_seven_slices(const SevenSliceProfiles& profiles, const SevenSliceCounts& counts,
                                          std::int64_t gpus);

// The plan for a demand that this arithmetic covers: one kind, empty, such a board, Goal::cost, each want one profile
// of its own. nullopt: it does not cover it, or the kind's count is too small.
std::optional<Plan> closed_form(const Fleet& fleet, const Demand& demand);

}  // namespace partita::fleet
