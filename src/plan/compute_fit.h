// Compute instances inside one GPU instance: which stay, go and come. Inside plan/ only.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "catalog/board.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"

namespace partita::plan {

struct ComputePlaced {
  int profile = 0;  // index in Profile::compute
  int start = 0;    // compute slices within the GPU instance
  auto operator<=>(const ComputePlaced&) const = default;
};

struct ComputeChange {
  std::vector<ComputePlaced> destroy, create;  // by start
  bool none() const { return destroy.empty() && create.empty(); }
};

std::vector<ComputePlaced> compute_placed(std::span<const layout::ComputeInstance> live);

// From the live compute instances to those of `wanted`, destroying the fewest; among those the lowest starts. nullopt
// when the GPU instance cannot hold them.
std::optional<ComputeChange> change_compute(const catalog::Profile& instance, std::span<const ComputePlaced> live,
                                            const layout::WantedInstance& wanted);

// Are these valid together in one GPU instance: legal starts, no overlap, no profile too often, at most 8?
bool valid_compute(const catalog::Profile& instance, std::span<const ComputePlaced> placed);

}  // namespace partita::plan
