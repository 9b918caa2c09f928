// GPU instances and compute instances as NVML's tables tell them, in nvidia-smi's order: profiles by size, each
// profile's instances by id.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "emulator/programs/arguments.h"
#include "emulator/programs/gpus.h"

namespace partita::emulator::programs {

struct GpuProfile {
  driver::NvmlGpuProfileInfoV2 info{};
  std::string name;  // "3g.20gb"
  unsigned free = 0;
  std::vector<driver::NvmlPlacement> placements;
};
std::vector<GpuProfile> gpu_profiles(const Gpu& gpu);

struct GpuInstance {
  NvmlGpuInstance handle{};
  driver::NvmlGpuInstanceInfo info{};
  GpuProfile profile;
};
// Those with an id in `ids`; all where it is empty.
std::vector<GpuInstance> gpu_instances(const Gpu& gpu, std::span<const int> ids);

struct ComputeProfile {
  driver::NvmlComputeProfileInfoV2 info{};
  std::string name;  // "1c.3g.20gb"
  unsigned free = 0;
  bool whole = false;  // takes all of the instance: the default
  std::vector<driver::NvmlPlacement> placements;
};
std::vector<ComputeProfile> compute_profiles(const GpuInstance& instance);

struct ComputeInstance {
  NvmlComputeInstance handle{};
  driver::NvmlComputeInstanceInfo info{};
  ComputeProfile profile;
};
std::vector<ComputeInstance> compute_instances(const GpuInstance& instance, std::span<const int> ids);

// The lists, as text.
std::string draw_gpu_profiles(std::span<const Gpu> gpus, bool wide);
std::string draw_gpu_placements(std::span<const Gpu> gpus);
std::string draw_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments, bool wide);
std::string draw_compute_profiles(std::span<const Gpu> gpus, const Arguments& arguments);
std::string draw_compute_placements(std::span<const Gpu> gpus, const Arguments& arguments);
std::string draw_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments);

// What `nvidia-smi mig` does: prints, and returns the exit status.
int run_mig(const Arguments& arguments);
int create_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments);
int create_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments);
int destroy_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments);
int destroy_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments);

}  // namespace partita::emulator::programs
