#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "catalog/attributes.h"
#include "layout/checkpoint_file.h"

namespace partita::layout {

namespace {

using Json = nlohmann::ordered_json;

Json instance_json(const catalog::Board& board, const GpuInstance& instance) {
  const auto& profile = board.profiles[static_cast<std::size_t>(instance.profile)];
  Json compute = Json::array();
  for (const ComputeInstance& c : instance.compute) {
    const auto& row = profile.compute[static_cast<std::size_t>(c.profile)];
    compute.push_back({{"profile", row.name},
                       {"nvml_profile", row.nvml_profile},
                       {"compute_slices", row.compute_slices},
                       {"start", c.placement.start}});
  }
  return {{"profile", profile.name},
          {"compute_slices", profile.compute_slices},
          {"memory_slices", profile.memory_slices},
          {"attributes", catalog::attribute_words(profile.attributes)},
          {"start", instance.placement.start},
          {"compute", std::move(compute)}};
}

Json gpu_json(const Gpu& gpu) {
  Json out = {{"uuid", gpu.uuid},
              {"index", gpu.index},
              {"product", gpu.product},
              {"pci_device_id", fmt::format("0x{:08X}", gpu.pci_device_id)}};
  if (gpu.fault) {
    out["fault"] = *gpu.fault;
    return out;
  }
  out["mig_enabled"] = gpu.mode && gpu.mode->current;
  out["instances"] = Json::array();
  if (gpu.board)
    for (const GpuInstance& instance : gpu.instances) out["instances"].push_back(instance_json(*gpu.board, instance));
  return out;
}

}  // namespace

std::string write_checkpoint(const NodeState& node) {
  Json out = {{"version", "partita-checkpoint-v1"}, {"gpus", Json::array()}};
  for (const Gpu& gpu : node.gpus) out["gpus"].push_back(gpu_json(gpu));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace partita::layout
