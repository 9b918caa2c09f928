// From a live layout with pinned instances to a target, on one GPU. Exact: fewest GPU instances destroyed, then fewest
// compute instances destroyed, then the placing that keeps the most placements open.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "plan/geometry.h"

namespace partita::plan {

struct Step {
  enum class Kind { destroy_compute, destroy_gpu_instance, create_gpu_instance, create_compute };
  Kind kind = Kind::create_gpu_instance;
  // The GPU instance, by profile and start (its id follows from the place).
  int profile = 0;
  int start = 0;
  // Compute steps: index in Profile::compute and start within the GPU instance.
  int compute = 0;
  int compute_start = 0;
  bool operator==(const Step&) const = default;
};

struct GpuPlan {
  std::string gpu;             // UUID
  std::vector<Step> steps;     // valid one by one: destroys first, each create fits when its turn comes
  std::vector<Placed> result;  // GPU instances afterwards, by start
  std::vector<Placed> kept;    // of those, the untouched ones
  int gpu_instances_destroyed = 0, gpu_instances_created = 0;
  int compute_destroyed = 0, compute_created = 0;
  bool changes() const { return !steps.empty(); }
};

// Brings gpu.instances to exactly `wanted`. Instances with pins stay as they are: when the target does not include one
// (same profile and the same compute instances), the error is `busy` and names each with its holder; `ignore_pins`
// plans as if none were (--force). When it cannot fit beside the pinned ones: explain_no_fit's error. gpu.board must
// be set and have MIG. A wanted instance without fixed start may match any live one of its profile and compute set.
Result<GpuPlan> transition(const layout::Gpu& gpu, const Geometry& geometry,
                           std::span<const layout::WantedInstance> wanted, bool ignore_pins = false);

// Applies steps to a copy of the GPU's instances (ids are not computed); `internal` names the first step that is not
// valid. Used by tests and by node/ before it acts.
Result<std::vector<layout::GpuInstance>> replay(const layout::Gpu& gpu, const Geometry& geometry,
                                                std::span<const Step> steps);

// The steps that undo a prefix of `steps`, newest first: what a failed apply runs to get the old layout back.
std::vector<Step> undo(std::span<const Step> done);

}  // namespace partita::plan
