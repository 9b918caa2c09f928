// Any bytes as a checkpoint: placements that the board has and that do not overlap, or an error.
#include <algorithm>

#include "fuzz.h"
#include "fuzz_node.h"
#include "layout/checkpoint_file.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const layout::NodeState node = fuzz::make_node();
  const auto target = layout::read_checkpoint(fuzz::text_of(data, size), "f", node);
  if (!fuzz::accepted(target)) return 0;
  for (const auto& wanted : target->gpus) {
    const auto gpu = std::ranges::find(node.gpus, wanted.gpu, &layout::Gpu::uuid);
    fuzz::require(gpu != node.gpus.end(), "the GPU is on the node");
    if (!wanted.instances) continue;
    int units = 0;
    for (const auto& instance : *wanted.instances) {
      const auto& profile = gpu->board->profiles.at(static_cast<std::size_t>(instance.profile));
      units += profile.placement_size;
      fuzz::require(std::ranges::find(profile.placements, instance.start.value()) != profile.placements.end(),
                    "the start is legal");
      fuzz::require(instance.compute.size() == instance.compute_starts.value().size(),
                    "each compute instance has a start");
    }
    fuzz::require(units <= gpu->board->placement_units, "instances do not overlap");
  }
  return 0;
}
