// A board from the JSON that json_board.cpp writes.
#include <nlohmann/json.hpp>

#include "api/json_board_in.h"
#include "catalog/attributes.h"

namespace partita::api {
namespace {

std::vector<int> read_numbers(const Members& in, std::string_view key) {
  std::vector<int> out;
  in.each(key, [&](const Json& item, const std::string& path) {
    if (!item.is_number_integer())
      in.reading().wrong(path, "expected a whole number");
    else
      out.push_back(item.get<int>());
  });
  return out;
}

std::vector<std::uint16_t> read_devices(const Members& in) {
  std::vector<std::uint16_t> out;
  for (const auto& text : in.texts("pci_devices"))
    out.push_back(static_cast<std::uint16_t>(in.reading().hex(in.path_of("pci_devices"), text)));
  return out;
}

catalog::ComputeProfile read_compute(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  catalog::ComputeProfile out;
  out.name = in.text("name");
  out.nvml_profile = in.number("nvml_profile", 0, kMostNumber);
  out.compute_slices = in.number("compute_slices", 0, kMostNumber);
  out.sm = in.maybe_number("sm_count", 0, kMostNumber);
  out.max_instances = in.number("max_instances", 0, kMostNumber);
  out.placement_size = in.number("placement_size", 0, kMostNumber);
  out.placements = read_numbers(in, "placement_starts");
  out.is_default = in.flag("default");
  out.confidence = in.text("confidence");
  return out;
}

catalog::Engines read_engines(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  const auto count = [&](const char* key) { return in.maybe_number(key, 0, kMostNumber); };
  return {count("copy"), count("decoder"), count("encoder"), count("jpeg"), count("ofa")};
}

catalog::Profile read_profile(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  for (const auto* key : {"name", "compute_slices", "memory_slices", "placement_size"}) in.need(key);
  catalog::Profile out;
  out.name = in.text("name");
  out.id = in.maybe_number("id", 0, kMostNumber);
  out.nvml_profile = in.number("nvml_profile", 0, kMostNumber);
  for (const auto& word : in.texts("attributes")) catalog::set_attribute(out.attributes, word);
  out.compute_slices = in.number("compute_slices", 0, kMostNumber);
  out.memory_slices = in.number("memory_slices", 0, kMostNumber);
  out.max_instances = in.number("max_instances", 0, kMostNumber);
  out.memory = in.bytes("memory_bytes");
  out.sm = in.maybe_number("sm_count", 0, kMostNumber);
  out.sm_estimate = in.maybe_number("sm_count_estimate", 0, kMostNumber);
  out.engines = read_engines(reading, in.at("engines"), in.path_of("engines"));
  out.placement_size = in.number("placement_size", 0, kMostNumber);
  out.placements = read_numbers(in, "placement_starts");
  out.driver_order = read_numbers(in, "driver_start_order");
  out.placements_assumed = in.flag("placements_assumed");
  out.confidence = in.text("confidence");
  out.note = in.text("note");
  in.each("compute_profiles",
          [&](const Json& item, const std::string& at) { out.compute.push_back(read_compute(reading, item, at)); });
  return out;
}

catalog::Specs read_specs(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  catalog::Specs out;
  out.sm_count = in.maybe_number("sm_count", 0, kMostNumber);
  out.boost_mhz = in.maybe_number("boost_mhz", 0, kMostNumber);
  out.tdp_w = in.maybe_number("tdp_w", 0, kMostNumber);
  out.fp64_tflops = in.real("fp64_tflops");
  out.fp64_tensor_tflops = in.real("fp64_tensor_tflops");
  out.fp32_tflops = in.real("fp32_tflops");
  out.tf32_tensor_tflops = in.real("tf32_tensor_tflops");
  out.fp16_tensor_tflops = in.real("fp16_tensor_tflops");
  out.fp8_tensor_tflops = in.real("fp8_tensor_tflops");
  out.fp4_tensor_tflops = in.real("fp4_tensor_tflops");
  out.int8_tensor_tops = in.real("int8_tensor_tops");
  out.memory_bandwidth_gb_per_s = in.real("memory_bandwidth_gb_per_s");
  out.l2_mib = in.real("l2_mib");
  out.compute_capability = in.text("compute_capability");
  out.confidence = in.text("confidence");
  out.sources = in.texts("sources");
  return out;
}

catalog::VgpuType read_vgpu(Reading& reading, const Json& json, const std::string& path, const catalog::Board& board) {
  const Members in(reading, json, path, {});
  catalog::VgpuType out;
  out.name = in.text("name");
  out.id = in.maybe_number("id", 0, kMostNumber);
  out.mig_backed = in.flag("mig_backed");
  out.frame_buffer = in.bytes("frame_buffer_bytes");
  out.max_per_gpu = in.maybe_number("max_per_gpu", 0, kMostNumber);
  out.max_per_gpu_mixed = in.maybe_number("max_per_gpu_mixed", 0, kMostNumber);
  if (in.has("profile")) out.profile = profile_called(&board, in.text("profile"));
  out.confidence = in.text("confidence");
  return out;
}

}  // namespace

int profile_called(const catalog::Board* board, std::string_view name) {
  for (std::size_t i = 0; board && i < board->profiles.size(); ++i)
    if (board->profiles[i].name == name) return static_cast<int>(i);
  return -1;
}

catalog::Board read_board(Reading& reading, const Json& json, const std::string& path) {
  const Members in(reading, json, path, {});
  for (const auto* key : {"id", "placement_units", "profiles"}) in.need(key);
  catalog::Board out;
  out.id = in.text("id");
  out.product = in.text("product");
  out.pci_devices = read_devices(in);
  out.chip = in.text("chip");
  out.family = in.text("family");
  out.placement_units = in.number("placement_units", 0, kMostNumber);
  out.compute_slices = in.number("compute_slices", 0, kMostNumber);
  out.memory_slices = in.number("memory_slices", 0, kMostNumber);
  out.mode_change_needs_reset = in.flag("mode_change_needs_reset");
  out.mode_survives_reboot = in.flag("mode_survives_reboot");
  out.total_memory = in.bytes("total_memory_bytes");
  out.nominal_gb = in.maybe_number("nominal_gb", 0, kMostNumber);
  out.copy_engines_in_mig = in.maybe_number("copy_engines_in_mig", 0, kMostNumber);
  out.min_driver = in.text("min_driver");
  out.note = in.text("note");
  out.sources = in.texts("sources");
  out.specs = read_specs(reading, in.at("specs"), in.path_of("specs"));
  in.each("profiles",
          [&](const Json& item, const std::string& at) { out.profiles.push_back(read_profile(reading, item, at)); });
  in.each("vgpu_types", [&](const Json& item, const std::string& at) {
    out.vgpu_types.push_back(read_vgpu(reading, item, at, out));
  });
  return out;
}

}  // namespace partita::api
