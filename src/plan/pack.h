// A demand spread over the GPUs of a node, mixed boards allowed. Exact in order: fewest GPU instances destroyed, fewest
// GPUs touched, most whole GPUs left free, fewest compute instances destroyed, then most placements open.
//
// Afterwards at least count idle instances of each demanded kind exist that are not pinned; live idle instances serve,
// pinned ones do not count and never move. Idle instances that serve no demand may be destroyed, if that is needed; one
// of the right profile with other compute instances may be recut.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"
#include "plan/transition.h"

namespace partita::plan {

struct DemandItem {
  std::string name;  // as asked: "3g.20gb"
  int count = 0;
  // Per GPU of the node (same order): the profile that serves it there and the compute instances wanted inside;
  // nullopt: this GPU cannot serve it.
  std::vector<std::optional<layout::WantedInstance>> on_gpu;
};

struct NodePlan {
  std::vector<GpuPlan> gpus;  // only those that change
  int gpu_instances_destroyed = 0;
  int gpus_touched = 0;
};

// GPUs without MIG mode, or with a fault, take no part. `no_space` says per item how many fit, what is in the way on
// which GPU (holders), and the cheapest change that would help; `impossible` when even the empty node could not.
Result<NodePlan> pack(std::span<const layout::Gpu> gpus, std::span<const DemandItem> demand);

}  // namespace partita::plan
