// What can be cut: the facts about one GPU model. Data only; values come from data/boards/*.yaml, each row with
// its source and confidence. nullopt = not known (planning needs only slices and placements, which are always set).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace partita::catalog {

// What a profile has besides slices. Order of printing: +me, +me.all, +gfx; -me.
struct Attributes {
  bool me = false;      // media extensions: the JPEG/OFA engine
  bool me_all = false;  // all media engines of the GPU
  bool gfx = false;     // graphics
  bool no_me = false;   // no media engine at all
  auto operator<=>(const Attributes&) const = default;
};

struct Engines {
  std::optional<int> copy, decoder, encoder, jpeg, ofa;
};

// One way to divide a GPU instance. Its nvidia-smi id equals its NVML_COMPUTE_INSTANCE_PROFILE_* number.
struct ComputeProfile {
  std::string name;      // "1c.3g.20gb"; the GPU instance's own name when it takes all its slices
  int nvml_profile = 0;  // NVML_COMPUTE_INSTANCE_PROFILE_*
  int compute_slices = 0;
  std::optional<int> sm;
  int max_instances = 0;
  int placement_size = 0;       // compute slices
  std::vector<int> placements;  // starts within the GPU instance, compute slices
  bool is_default = false;      // what "nvidia-smi mig -C" makes
  std::string confidence;
};

// A GPU instance profile. Within Partita it is named by its index in Board::profiles.
struct Profile {
  std::string name;          // "3g.20gb"; never a key, the GB part drifts with the driver
  std::string catalog_name;  // the catalog's spelling where the driver prints another; "" where both are the same
  int nvml_profile = 0;      // NVML_GPU_INSTANCE_PROFILE_*
  std::optional<int> id;     // the number nvidia-smi and NVML's profileId use
  Attributes attributes;
  int compute_slices = 0;
  int memory_slices = 0;
  int max_instances = 0;
  std::optional<Bytes> memory;
  std::optional<int> sm;
  std::optional<int> sm_estimate;  // only where sm is unknown
  Engines engines;
  int placement_size = 0;           // placement units (Board::placement_units make the whole GPU)
  std::vector<int> placements;      // legal starts, ascending
  std::vector<int> driver_order;    // the order in which the driver tries starts when none is named
  bool placements_assumed = false;  // not seen anywhere: aligned starts assumed
  std::string confidence;
  std::string note;
  std::vector<ComputeProfile> compute;
};

struct VgpuType {
  std::string name;       // "GRID A100X-3-20C"
  std::optional<int> id;  // vGPU type id; mdev name is nvidia-<id>
  bool mig_backed = false;
  std::optional<Bytes> frame_buffer;
  std::optional<int> max_per_gpu;
  std::optional<int> max_per_gpu_mixed;  // time-sliced, mixed-size mode
  std::optional<int> profile;            // index in Board::profiles of the GPU instance that backs it
  std::string confidence;                // "" = as the board's sources
};

struct Specs {  // whole GPU, dense peaks
  std::optional<int> sm_count, boost_mhz, tdp_w;
  std::optional<double> fp64_tflops, fp64_tensor_tflops, fp32_tflops, tf32_tensor_tflops, fp16_tensor_tflops,
      fp8_tensor_tflops, fp4_tensor_tflops, int8_tensor_tops, memory_bandwidth_gb_per_s, l2_mib;
  std::string compute_capability;
  std::string confidence;
  std::vector<std::string> sources;
};

struct Board {
  std::string id;                          // "a100-sxm4-40gb"
  std::string product;                     // "NVIDIA A100-SXM4-40GB"
  std::vector<std::uint16_t> pci_devices;  // 0x20B0
  std::string chip;                        // "GA100"
  std::string family;                      // "ampere", "hopper", "blackwell-dc", "blackwell-gfx"
  int placement_units = 0;                 // grid that placements count in: 8, 4, 12, 2
  int compute_slices = 0;
  int memory_slices = 0;
  bool mode_change_needs_reset = false;  // Ampere
  bool mode_survives_reboot = false;     // Ampere (InfoROM)
  std::optional<Bytes> total_memory;     // as the driver reports it
  std::optional<int> nominal_gb;
  Specs specs;
  std::optional<int> copy_engines_in_mig;
  std::string min_driver;  // "450.80.02", "" when not known
  std::vector<std::string> sources;
  std::string note;
  std::vector<Profile> profiles;
  std::vector<VgpuType> vgpu_types;
  // No MIG at all (for example GB10): profiles is empty.
  bool has_mig() const { return !profiles.empty(); }
};

}  // namespace partita::catalog
