// NVML's tables, read.
#include <algorithm>

#include "emulator/programs/mig.h"

namespace partita::emulator::programs {

namespace {

// As nvidia-smi lists them: one to seven slices, of each size first the plain one, then +me, double memory, +gfx,
// +me.all and -me.
constexpr unsigned kOrder[] = {0, 7, 9, 10, 15, 13, 1, 8, 11, 16, 14, 2, 3, 12, 4, 6, 5};

std::string without_mig(const char* name) {
  const std::string_view text = name;
  return std::string(text.starts_with("MIG ") ? text.substr(4) : text);
}

bool is_wanted(std::span<const int> ids, unsigned id) {
  return ids.empty() || std::ranges::find(ids, static_cast<int>(id)) != ids.end();
}

std::vector<driver::NvmlPlacement> sorted(std::vector<driver::NvmlPlacement> placements) {
  std::ranges::sort(placements, {}, &driver::NvmlPlacement::start);
  return placements;
}

std::vector<driver::NvmlPlacement> placements_of(const Gpu& gpu, unsigned profile_id) {
  unsigned count = 0;
  if (call<"nvmlDeviceGetGpuInstancePossiblePlacements_v2">(
          gpu.device, profile_id, static_cast<driver::NvmlPlacement*>(nullptr), &count) != driver::kNvmlSuccess)
    return {};
  std::vector<driver::NvmlPlacement> placements(count);
  if (call<"nvmlDeviceGetGpuInstancePossiblePlacements_v2">(gpu.device, profile_id, placements.data(), &count) !=
      driver::kNvmlSuccess)
    return {};
  placements.resize(count);
  return sorted(std::move(placements));
}

std::vector<driver::NvmlPlacement> placements_of(const GpuInstance& instance, unsigned profile_id) {
  unsigned count = 0;
  if (call<"nvmlGpuInstanceGetComputeInstancePossiblePlacements">(
          instance.handle, profile_id, static_cast<driver::NvmlPlacement*>(nullptr), &count) != driver::kNvmlSuccess)
    return {};
  std::vector<driver::NvmlPlacement> placements(count);
  if (call<"nvmlGpuInstanceGetComputeInstancePossiblePlacements">(instance.handle, profile_id, placements.data(),
                                                                  &count) != driver::kNvmlSuccess)
    return {};
  placements.resize(count);
  return sorted(std::move(placements));
}

std::optional<GpuProfile> profile_of(const Gpu& gpu, unsigned number) {
  GpuProfile profile;
  profile.info.version = driver::kNvmlVersion2<driver::NvmlGpuProfileInfoV2>;
  if (call<"nvmlDeviceGetGpuInstanceProfileInfoV">(gpu.device, number, &profile.info) != driver::kNvmlSuccess)
    return std::nullopt;
  profile.name = without_mig(profile.info.name);
  profile.free = ask<"nvmlDeviceGetGpuInstanceRemainingCapacity", unsigned>(gpu.device, profile.info.id).value_or(0);
  profile.placements = placements_of(gpu, profile.info.id);
  return profile;
}

}  // namespace

std::vector<GpuProfile> gpu_profiles(const Gpu& gpu) {
  std::vector<GpuProfile> profiles;
  for (const unsigned number : kOrder)
    if (auto profile = profile_of(gpu, number)) profiles.push_back(*std::move(profile));
  return profiles;
}

std::vector<GpuInstance> gpu_instances(const Gpu& gpu, std::span<const int> ids) {
  std::vector<GpuInstance> found;
  for (const GpuProfile& profile : gpu_profiles(gpu)) {
    std::vector<NvmlGpuInstance> handles(profile.info.instances);
    unsigned count = profile.info.instances;
    if (call<"nvmlDeviceGetGpuInstances">(gpu.device, profile.info.id, handles.data(), &count) != driver::kNvmlSuccess)
      continue;
    const auto begin = static_cast<std::ptrdiff_t>(found.size());
    for (unsigned i = 0; i < count; ++i)
      if (const auto info = ask<"nvmlGpuInstanceGetInfo", driver::NvmlGpuInstanceInfo>(handles[i]);
          info && is_wanted(ids, info->id))
        found.push_back({handles[i], *info, profile});
    std::ranges::sort(found.begin() + begin, found.end(), {}, [](const GpuInstance& i) { return i.info.id; });
  }
  return found;
}

std::vector<ComputeProfile> compute_profiles(const GpuInstance& instance) {
  std::vector<ComputeProfile> profiles;
  for (unsigned number = 0; number < driver::kNvmlComputeProfilesAsked; ++number) {
    ComputeProfile profile;
    profile.number = number;
    profile.info.version = driver::kNvmlVersion2<driver::NvmlComputeProfileInfoV2>;
    if (call<"nvmlGpuInstanceGetComputeInstanceProfileInfoV">(instance.handle, number, driver::kNvmlSharedEngines,
                                                              &profile.info) != driver::kNvmlSuccess)
      continue;
    profile.name = without_mig(profile.info.name);
    profile.free = ask<"nvmlGpuInstanceGetComputeInstanceRemainingCapacity", unsigned>(instance.handle, profile.info.id)
                       .value_or(0);
    profile.whole = profile.info.slices == instance.profile.info.slices;
    profile.placements = placements_of(instance, profile.info.id);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<ComputeInstance> compute_instances(const GpuInstance& instance, std::span<const int> ids) {
  std::vector<ComputeInstance> found;
  for (const ComputeProfile& profile : compute_profiles(instance)) {
    std::vector<NvmlComputeInstance> handles(profile.info.instances);
    unsigned count = profile.info.instances;
    if (call<"nvmlGpuInstanceGetComputeInstances">(instance.handle, profile.info.id, handles.data(), &count) !=
        driver::kNvmlSuccess)
      continue;
    const auto begin = static_cast<std::ptrdiff_t>(found.size());
    for (unsigned i = 0; i < count; ++i)
      if (const auto info = ask<"nvmlComputeInstanceGetInfo_v2", driver::NvmlComputeInstanceInfo>(handles[i]);
          info && is_wanted(ids, info->id))
        found.push_back({handles[i], *info, profile});
    std::ranges::sort(found.begin() + begin, found.end(), {}, [](const ComputeInstance& i) { return i.info.id; });
  }
  return found;
}

}  // namespace partita::emulator::programs
