// Where a lease goes. Pure: from the node as it is (with pins), what is required, and what other leases forbid, to an
// idle instance that serves as it is, or to the cheapest recut.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/lease.h"
#include "base/error.h"
#include "layout/layout.h"
#include "plan/transition.h"

namespace partita::lease {

struct Constraints {
  std::vector<std::string> closed_gpus;    // UUIDs: another lease has the GPU for itself
  std::vector<std::string> occupied_gpus;  // UUIDs: some lease is there (exclusive_gpu cannot go there)
  std::optional<std::string> same_gpu;     // UUID of the lease named by same_gpu_as
};

// One GPU instance (or whole GPU) for one lease.
struct Choice {
  std::string gpu;  // UUID
  bool whole_gpu = false;
  int profile = 0;  // index in the GPU's board
  int start = 0;
  std::vector<int> compute;           // indices in Profile::compute; empty: bare
  plan::GpuPlan plan;                 // no steps: an idle instance serves as it is
  std::vector<std::string> warnings;  // "3g.20gb is called 3g.24gb on this ..."
};

// In order: an idle instance of exactly this shape (on the fullest GPU; never one that needs fewer destroys elsewhere),
// then the recut that destroys the fewest idle instances, then the place that keeps the most placements open. A size
// (memory, SMs) takes the smallest profile that has it, by compute slices, then memory; a larger idle one only when
// the smallest cannot be cut. `not_found`, `invalid`, `impossible`, `no_space` as rule 4 demands: what is short, who is
// in the way (leases by name, with their expiry), and what would free it.
Result<Choice> choose(const layout::NodeState& state, const api::Requirement& requirement,
                      const Constraints& constraints);

// What it will count against a quota: the profile that would be taken on the least capable board that serves it.
// `not_found` or `invalid` when no board of the node could.
struct Size {
  int compute_slices = 0;
  Bytes memory;
};
Result<Size> size_of(const layout::NodeState& state, const api::Requirement& requirement);

// Is the requirement itself well formed? `invalid` says which part contradicts which.
Result<void> check(const api::Requirement& requirement);

}  // namespace partita::lease
