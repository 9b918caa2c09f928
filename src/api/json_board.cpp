// Boards as JSON: the catalog's rows, unknown values null.
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/json_parts.h"
#include "catalog/attributes.h"

namespace partita::api {
namespace {

Json devices_json(const std::vector<std::uint16_t>& devices) {
  auto out = Json::array();
  for (const auto device : devices) out.push_back(hex(device, 4));
  return out;
}

Json compute_json(const catalog::ComputeProfile& compute) {
  Json out;
  out["name"] = compute.name;
  out["nvml_profile"] = compute.nvml_profile;
  out["compute_slices"] = compute.compute_slices;
  out["sm_count"] = value_or_null(compute.sm);
  out["max_instances"] = compute.max_instances;
  out["placement_size"] = compute.placement_size;
  out["placement_starts"] = compute.placements;
  out["default"] = compute.is_default;
  out["confidence"] = compute.confidence;
  return out;
}

Json engines_json(const catalog::Engines& engines) {
  Json out;
  out["copy"] = value_or_null(engines.copy);
  out["decoder"] = value_or_null(engines.decoder);
  out["encoder"] = value_or_null(engines.encoder);
  out["jpeg"] = value_or_null(engines.jpeg);
  out["ofa"] = value_or_null(engines.ofa);
  return out;
}

Json profile_json(const catalog::Profile& profile) {
  Json out;
  out["name"] = profile.name;
  out["id"] = value_or_null(profile.id);
  out["nvml_profile"] = profile.nvml_profile;
  out["attributes"] = catalog::attribute_words(profile.attributes);
  out["compute_slices"] = profile.compute_slices;
  out["memory_slices"] = profile.memory_slices;
  out["max_instances"] = profile.max_instances;
  out["memory_bytes"] = bytes_or_null(profile.memory);
  out["sm_count"] = value_or_null(profile.sm);
  out["sm_count_estimate"] = value_or_null(profile.sm_estimate);
  out["engines"] = engines_json(profile.engines);
  out["placement_size"] = profile.placement_size;
  out["placement_starts"] = profile.placements;
  out["driver_start_order"] = profile.driver_order;
  out["placements_assumed"] = profile.placements_assumed;
  out["confidence"] = profile.confidence;
  out["note"] = profile.note.empty() ? Json(nullptr) : Json(profile.note);
  out["compute_profiles"] = Json::array();
  for (const auto& compute : profile.compute) out["compute_profiles"].push_back(compute_json(compute));
  return out;
}

Json vgpu_json(const catalog::Board& board, const catalog::VgpuType& type) {
  const auto* profile = type.profile ? profile_at(&board, *type.profile) : nullptr;
  Json out;
  out["name"] = type.name;
  out["id"] = value_or_null(type.id);
  out["mig_backed"] = type.mig_backed;
  out["frame_buffer_bytes"] = bytes_or_null(type.frame_buffer);
  out["max_per_gpu"] = value_or_null(type.max_per_gpu);
  out["max_per_gpu_mixed"] = value_or_null(type.max_per_gpu_mixed);
  out["profile"] = profile ? Json(profile->name) : Json(nullptr);
  out["confidence"] = type.confidence.empty() ? Json(nullptr) : Json(type.confidence);
  return out;
}

Json specs_json(const catalog::Specs& specs) {
  Json out;
  out["sm_count"] = value_or_null(specs.sm_count);
  out["boost_mhz"] = value_or_null(specs.boost_mhz);
  out["tdp_w"] = value_or_null(specs.tdp_w);
  out["fp64_tflops"] = value_or_null(specs.fp64_tflops);
  out["fp64_tensor_tflops"] = value_or_null(specs.fp64_tensor_tflops);
  out["fp32_tflops"] = value_or_null(specs.fp32_tflops);
  out["tf32_tensor_tflops"] = value_or_null(specs.tf32_tensor_tflops);
  out["fp16_tensor_tflops"] = value_or_null(specs.fp16_tensor_tflops);
  out["fp8_tensor_tflops"] = value_or_null(specs.fp8_tensor_tflops);
  out["fp4_tensor_tflops"] = value_or_null(specs.fp4_tensor_tflops);
  out["int8_tensor_tops"] = value_or_null(specs.int8_tensor_tops);
  out["memory_bandwidth_gb_per_s"] = value_or_null(specs.memory_bandwidth_gb_per_s);
  out["l2_mib"] = value_or_null(specs.l2_mib);
  out["compute_capability"] = specs.compute_capability.empty() ? Json(nullptr) : Json(specs.compute_capability);
  out["confidence"] = specs.confidence;
  out["sources"] = specs.sources;
  return out;
}

}  // namespace

std::string to_json(const std::vector<catalog::BoardEntry>& boards) {
  auto list = Json::array();
  for (const auto& board : boards)
    list.push_back({{"id", board.id}, {"product", board.product}, {"pci_devices", devices_json(board.pci_devices)}});
  Json out;
  out["boards"] = std::move(list);
  return to_text(out);
}

Json board_json(const catalog::Board& board) {
  Json out;
  out["id"] = board.id;
  out["product"] = board.product;
  out["pci_devices"] = devices_json(board.pci_devices);
  out["chip"] = board.chip;
  out["family"] = board.family;
  out["mig"] = board.has_mig();
  out["placement_units"] = board.placement_units;
  out["compute_slices"] = board.compute_slices;
  out["memory_slices"] = board.memory_slices;
  out["mode_change_needs_reset"] = board.mode_change_needs_reset;
  out["mode_survives_reboot"] = board.mode_survives_reboot;
  out["total_memory_bytes"] = bytes_or_null(board.total_memory);
  out["nominal_gb"] = value_or_null(board.nominal_gb);
  out["copy_engines_in_mig"] = value_or_null(board.copy_engines_in_mig);
  out["min_driver"] = board.min_driver.empty() ? Json(nullptr) : Json(board.min_driver);
  out["note"] = board.note.empty() ? Json(nullptr) : Json(board.note);
  out["sources"] = board.sources;
  out["specs"] = specs_json(board.specs);
  out["profiles"] = Json::array();
  for (const auto& profile : board.profiles) out["profiles"].push_back(profile_json(profile));
  out["vgpu_types"] = Json::array();
  for (const auto& type : board.vgpu_types) out["vgpu_types"].push_back(vgpu_json(board, type));
  return out;
}

std::string to_json(const catalog::Board& board) { return to_text(board_json(board)); }

}  // namespace partita::api
