// The driver's own profile tables of one GPU, and the board that they and the catalog make together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "catalog/board.h"
#include "driver/nvml_table.h"

namespace partita::driver {

// One GPU instance profile as the driver lists it.
struct GpuProfileRow {
  int nvml_profile = 0;
  int id = 0;         // profileId of every further call
  std::string name;   // without "MIG "; "" from drivers that do not name profiles
  int slices = 0;     // compute slices
  int instances = 0;  // most at a time
  int sm = 0, copy = 0, decoder = 0, encoder = 0, jpeg = 0, ofa = 0;
  std::uint64_t memory_mib = 0;
  std::vector<NvmlPlacement> placements;  // ascending; empty when the driver does not tell
  bool operator==(const GpuProfileRow&) const = default;
};

// One compute instance profile of a GPU instance profile.
struct ComputeProfileRow {
  int nvml_profile = 0;
  int id = 0;
  std::string name;
  int slices = 0, instances = 0, sm = 0;
  std::vector<NvmlPlacement> placements;
  bool operator==(const ComputeProfileRow&) const = default;
};

struct ProfileTables {
  std::vector<GpuProfileRow> gpu;  // by nvml_profile
  // By GPU instance profile id. The driver tells them only through a live instance, so this grows as they are seen.
  std::map<int, std::vector<ComputeProfileRow>> compute;
  bool operator==(const ProfileTables&) const = default;

  const GpuProfileRow* by_nvml_profile(int nvml_profile) const;
};

// What was read, or what the driver answered instead: the NVML return and the function.
struct NvmlRefusal {
  int nvml_return = 0;
  const char* function = "";
};
template <class T>
using NvmlResult = std::expected<T, NvmlRefusal>;

NvmlResult<std::vector<GpuProfileRow>> read_gpu_profiles(const NvmlTable& nvml, NvmlDevice device);
NvmlResult<std::vector<ComputeProfileRow>> read_compute_profiles(const NvmlTable& nvml, NvmlGpuInstance instance);

// What the board is made from besides the tables.
struct GpuIdentity {
  std::string product;
  std::uint16_t pci_device = 0;
  Bytes total_memory;  // 0: the driver does not tell
  bool mode_change_needs_reset = false;
  bool operator==(const GpuIdentity&) const = default;
};

// The catalog's board with the driver's tables over it: memory, SMs, engines, counts, placements, names and ids are
// the driver's; confidence, notes and vGPU types stay. Profiles that the driver does not list drop out, unknown ones
// are added. `known` null: a board from the tables alone.
//
// Within a profile the indices of compute profiles never change, since their tables become known only later: what the
// driver does not list stays with no placement and no instance, what is new goes to the end.
catalog::Board effective_board(const catalog::Board* known, const ProfileTables& tables, const GpuIdentity& identity);

}  // namespace partita::driver
