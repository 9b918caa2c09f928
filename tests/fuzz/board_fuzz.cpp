// Any bytes as a board file: a board that planning can trust, or an error.
#include "catalog/board_file.h"
#include "fuzz.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto board = catalog::read_board(fuzz::text_of(data, size), "f");
  if (!fuzz::accepted(board)) return 0;
  for (const auto& profile : board->profiles) {
    fuzz::require(!profile.placements.empty(), "a profile has a place");
    fuzz::require(profile.placements.back() + profile.placement_size <= board->placement_units, "it lies on the GPU");
    fuzz::require(!profile.compute.empty(), "it can be divided");
    for (const auto& compute : profile.compute)
      fuzz::require(compute.placements.back() + compute.placement_size <= profile.compute_slices,
                    "it lies in the instance");
  }
  return 0;
}
