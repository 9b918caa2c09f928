// What an emulated node is made of: plain structs that control/ compiles from a node file and the catalog, and that the
// engine writes into the mapped state. The engine knows the driver's rules, not the catalog or the planner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace partita::emulator {

struct ComputeProfileSpec {
  int nvml_profile = 0;  // = nvidia-smi id
  int slices = 0;
  int sm = 0;  // 0: not known
  int max_instances = 0;
  int size = 0;
  std::vector<int> starts;
  std::string name;
};

struct ProfileSpec {
  int nvml_profile = 0;
  int id = 0;        // profileId; made up (100 + nvml_profile) where not known
  std::string name;  // without "MIG "
  int compute_slices = 0, memory_slices = 0;
  int max_instances = 0;
  std::uint64_t memory_mib = 0;  // 0: not known
  int sm = 0;
  int copy = 0, decoder = 0, encoder = 0, jpeg = 0, ofa = 0;
  bool me = false, me_all = false, no_me = false, gfx = false;
  std::uint32_t create_ms = 0, destroy_ms = 0;  // measured, of a GPU instance with its compute instance
  int size = 0;
  std::vector<int> starts;        // ascending
  std::vector<int> driver_order;  // starts as the driver tries them
  std::vector<ComputeProfileSpec> compute;
};

// A kind of virtual GPU that a host can make of the GPU.
struct VgpuTypeSpec {
  int id = 0;        // mdev name: nvidia-<id>
  std::string name;  // "GRID A100X-3-20C"
  std::uint64_t frame_buffer_mib = 0;
  int max_instances = 0;  // of the GPU; 0: not known
  int profile_id = -1;    // ProfileSpec::id of the GPU instance that backs it; -1: time-sliced
};

// Versions and numbers that a board carries; "" where not known.
struct FirmwareSpec {
  std::string vbios, part_number;
  std::string inforom_image, inforom_oem, inforom_ecc;
};

struct GpuSpec {
  std::string product;
  std::string uuid;       // "GPU-..."; fixed for a node name and index, so the same node has the same UUIDs
  std::uint64_t pdi = 0;  // per-device identifier that MIG UUIDs are made from
  std::uint16_t chip_id = 0;
  std::string serial;
  std::string pci_bus_id;  // "00000000:07:00.0"
  std::uint32_t pci_device_id = 0, pci_subsystem_id = 0;
  int minor = 0;
  std::uint64_t memory_mib = 0;
  int units = 0;  // placement grid; 0: no MIG
  int compute_slices = 0, memory_slices = 0;
  bool mode_change_needs_reset = false;
  bool mode_survives_reboot = false;
  bool mirrored = false;
  bool mig_enabled = false;  // at the first start
  int reset_group = 0;       // GPUs of one group must be reset together (NVLink peers); 0: alone
  int sm = 0;
  // Limits of the law in behaviour.h.
  std::uint32_t power_limit_mw = 0;  // 0: not known, 3 W per SM
  std::uint32_t least_power_mw = 0;  // lowest limit that can be set; 0: not known, half of the highest
  std::uint32_t idle_clock_mhz = 210, boost_clock_mhz = 1500, memory_clock_mhz = 1215;
  std::uint32_t application_clock_mhz = 0, video_clock_mhz = 0;  // 0: not known, the boost clock
  std::uint32_t memory_bus_bits = 0;                             // 0: not known
  FirmwareSpec firmware;
  int compute_capability_major = 0, compute_capability_minor = 0;
  std::string architecture;  // "ampere"
  std::uint64_t bar1_mib = 0;
  // NVLink: with a reset_group the links go straight to the group's other GPUs in turn (at least one each); without
  // one, `nvlinks` links go to a switch.
  int nvlinks = 0;
  std::vector<ProfileSpec> profiles;
  std::vector<VgpuTypeSpec> vgpu_types;
};

struct NodeSpec {
  std::string name, type;
  std::string driver_version;  // "550.90.07"
  std::string cuda_version;    // "12.4"
  bool vgpu_host = false;      // the driver is the one for hosts of virtual machines: it tells vGPU types
  bool files = true;           // false: the state alone, nothing under root/ (benchmarks)
  std::vector<GpuSpec> gpus;   // at most 32
};

}  // namespace partita::emulator
