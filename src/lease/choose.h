// Where a lease goes. Pure: from the node as it is (with pins), what is required, and what other leases forbid, to an
// idle instance that serves as it is, or to the cheapest recut.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/lease.h"
#include "base/clock.h"
#include "base/error.h"
#include "fleet/online/potential.h"
#include "layout/layout.h"
#include "plan/geometry.h"
#include "plan/transition.h"

namespace partita::lease {

// A live lease at its place, for the reasons of a refusal.
struct Occupant {
  std::string lease;
  std::string gpu;           // UUID
  std::optional<int> start;  // of its GPU instance; nullopt: the whole GPU
  std::optional<Time> expires;
};

// What a lease counts against a quota.
struct Size {
  int compute_slices = 0;
  Bytes memory;
};

struct Constraints {
  std::vector<std::string> closed_gpus;    // UUIDs: another lease has the GPU for itself
  std::vector<std::string> occupied_gpus;  // UUIDs: some lease is there (exclusive_gpu cannot go there)
  std::optional<std::string> same_gpu;     // UUID of the lease named by same_gpu_as
  std::vector<Occupant> occupants;         // may be left out: a refusal then tells no expiries
  std::optional<Size> most;                // nothing larger: the quota
  bool cuts_last = false;                  // an idle instance serves before any cut, on a free GPU, too
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

// Boards compiled for planning, kept by who chooses often. Not thread safe.
class Geometries {
 public:
  const plan::Geometry& of(const std::shared_ptr<const catalog::Board>& board);
  // How good it is for requests to come that a GPU of this board holds these; 0 for boards without weights.
  double value_of(const std::shared_ptr<const catalog::Board>& board, std::span<const plan::Placed> placed);
  void trim();  // forgets boards when they have become many; called before each choice

 private:
  struct Worth {
    std::shared_ptr<const catalog::Board> board;
    fleet::Features features;
    fleet::Potential weights;
  };
  std::vector<std::pair<std::shared_ptr<const catalog::Board>, std::unique_ptr<plan::Geometry>>> known_;
  std::vector<Worth> worths_;
};

// A GPU is free while nothing on it is pinned: it can still be had whole, and is left so where that destroys nothing.
// In order: an idle instance of exactly this shape on a GPU that is in use (where most is pinned, beside what is
// pinned); a cut into empty room of a GPU in use; an idle instance on a free GPU; else, of the places whose recut
// destroys the fewest idle instances, one on a GPU in use, and there the one after which the GPU is worth most for
// requests to come (fleet/potential.h), what idles counted as free; then the one that keeps most placements open. A
// size (memory, SMs) takes the smallest profile that has it, by compute slices, then memory, never one with attributes;
// a larger one, idle or cut, only when the smaller ones can neither be had nor cut. `not_found`, `invalid`,
// `impossible`, `no_space` as rule 4 demands: what is short, who is in the way (leases by name, with their expiry), and
// what would free it.
Result<Choice> choose(const layout::NodeState& state, const api::Requirement& requirement,
                      const Constraints& constraints, Geometries& geometries);
Result<Choice> choose(const layout::NodeState& state, const api::Requirement& requirement,
                      const Constraints& constraints);

// The same without the reason: nullopt where choose() says `no_space`. For the queue, which asks often.
Result<std::optional<Choice>> find_place(const layout::NodeState& state, const api::Requirement& requirement,
                                         const Constraints& constraints, Geometries& geometries);

// What it will count against a quota: the profile that would be taken on the least capable board that serves it.
// `not_found`, `invalid` or `impossible` when no board of the node could, `unavailable` when those that could are lost.
Result<Size> size_of(const layout::NodeState& state, const api::Requirement& requirement);
// What it does count, once chosen: never less.
Size size_of(const layout::NodeState& state, const Choice& choice);

// Is the requirement itself well formed? `invalid` says which part contradicts which.
Result<void> check(const api::Requirement& requirement);

// As people read it: "3g.20gb", "9.00 GiB of memory", "a whole GPU".
std::string to_string(const api::Requirement& requirement);

}  // namespace partita::lease
