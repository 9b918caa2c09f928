// A YAML mapping read field by field, each with its type and range. Internal to catalog/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "base/yaml.h"

namespace partita::catalog {

using Keys = std::span<const std::string_view>;

class Fields {
 public:
  Fields(YamlPlace place, const YamlNode& node) : place_(std::move(place)), node_(&node) {}

  // The node is a mapping with all `required` keys and no others than those and `optional`.
  Result<void> only(Keys required, Keys optional) const { return require_keys(place_, *node_, required, optional); }

  Result<std::string> text(std::string_view key) const;  // not empty
  Result<std::string> text_or(std::string_view key, std::string_view otherwise) const;
  Result<int> integer(std::string_view key, int min, int max) const;
  Result<std::optional<int>> maybe_integer(std::string_view key, int min, int max) const;
  Result<std::optional<double>> maybe_number(std::string_view key) const;  // above 0
  Result<std::optional<Bytes>> maybe_mib(std::string_view key) const;
  Result<bool> flag(std::string_view key, bool otherwise) const;
  // Lists; empty where the key is absent.
  Result<std::vector<int>> integers(std::string_view key, int min, int max) const;
  Result<std::vector<std::string>> texts(std::string_view key) const;
  Result<void> numbers(std::string_view key) const;
  // A mapping below `key`, its keys checked; nullopt where absent.
  Result<std::optional<Fields>> child(std::string_view key, Keys required, Keys optional) const;
  // A list of mappings below `key`, their keys checked.
  Result<std::vector<Fields>> rows(std::string_view key, Keys required, Keys optional) const;

  // `invalid` at the key (or at the mapping, where it is absent).
  std::unexpected<Error> error(std::string_view key, std::string_view message) const;

 private:
  const YamlNode* find(std::string_view key) const { return node_->find(key); }

  YamlPlace place_;
  const YamlNode* node_;
};

// "pci_devices": ["0x20B0"].
Result<std::vector<std::uint16_t>> read_pci_devices(const Fields& fields);

inline constexpr std::string_view kBoardKeys[] = {"id",     "product", "pci_devices", "chip",
                                                  "family", "sources", "specs",       "profiles"};
inline constexpr std::string_view kBoardOptional[] = {
    "nominal_gb", "total_memory_mib", "bar1_mib", "min_driver", "note", "mig", "vgpu_types"};
inline constexpr std::string_view kMigKeys[] = {"placement_units", "compute_slices", "memory_slices",
                                                "mode_change_needs_reset", "mode_survives_reboot"};
inline constexpr std::string_view kMigOptional[] = {"copy_engines"};
inline constexpr std::string_view kSpecKeys[] = {"compute_capability", "confidence"};
inline constexpr std::string_view kSpecOptional[] = {"sm_count",
                                                     "boost_mhz",
                                                     "tdp_w",
                                                     "fp64_tflops",
                                                     "fp64_tensor_tflops",
                                                     "fp32_tflops",
                                                     "tf32_tensor_tflops",
                                                     "fp16_tensor_tflops",
                                                     "fp8_tensor_tflops",
                                                     "fp4_tensor_tflops",
                                                     "int8_tensor_tops",
                                                     "memory_bandwidth_gb_per_s",
                                                     "l2_mib",
                                                     "confirmed_fields",
                                                     "sources"};
inline constexpr std::string_view kProfileKeys[] = {
    "name",           "nvml_profile", "compute_slices", "memory_slices", "max_instances",
    "placement_size", "placements",   "driver_order",   "confidence",    "compute"};
inline constexpr std::string_view kProfileOptional[] = {
    "id", "attributes", "memory_mib", "also_seen_gib", "sm", "sm_estimate", "engines", "placements_assumed", "note"};
inline constexpr std::string_view kEngineKeys[] = {"copy", "decoder", "encoder", "jpeg", "ofa"};
inline constexpr std::string_view kComputeKeys[] = {"name",          "nvml_profile",   "compute_slices",
                                                    "max_instances", "placement_size", "placements"};
inline constexpr std::string_view kComputeOptional[] = {"sm", "is_default", "confidence"};
inline constexpr std::string_view kVgpuKeys[] = {"name", "mig_backed"};
inline constexpr std::string_view kVgpuOptional[] = {"id",          "profile",           "frame_buffer_mib",
                                                     "max_per_gpu", "max_per_gpu_mixed", "confidence"};

}  // namespace partita::catalog
