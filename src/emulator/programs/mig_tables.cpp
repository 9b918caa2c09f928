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

// By their start; `Name` lists those of a GPU's or a GPU instance's profile.
template <FunctionName Name, class Handle>
std::vector<driver::NvmlPlacement> placements_of(Handle of, unsigned profile_id) {
  unsigned count = 0;
  if (call<Name>(of, profile_id, static_cast<driver::NvmlPlacement*>(nullptr), &count) != driver::kNvmlSuccess)
    return {};
  std::vector<driver::NvmlPlacement> placements(count);
  if (call<Name>(of, profile_id, placements.data(), &count) != driver::kNvmlSuccess) return {};
  placements.resize(count);
  std::ranges::sort(placements, {}, &driver::NvmlPlacement::start);
  return placements;
}

// Adds a profile's instances by id; `List` gives their handles, `Info` tells what each is.
template <FunctionName List, FunctionName Info, class Handle, class Instance, class Profile>
void add_instances(std::vector<Instance>& found, Handle of, const Profile& profile, std::span<const int> ids) {
  std::vector<decltype(Instance::handle)> handles(profile.info.instances);
  unsigned count = profile.info.instances;
  if (call<List>(of, profile.info.id, handles.data(), &count) != driver::kNvmlSuccess) return;
  const auto begin = static_cast<std::ptrdiff_t>(found.size());
  for (unsigned i = 0; i < count; ++i)
    if (const auto info = ask<Info, decltype(Instance::info)>(handles[i]); info && is_wanted(ids, info->id))
      found.push_back({handles[i], *info, profile});
  std::ranges::sort(found.begin() + begin, found.end(), {}, [](const Instance& i) { return i.info.id; });
}

std::optional<GpuProfile> profile_of(const Gpu& gpu, unsigned number) {
  GpuProfile profile;
  profile.info.version = driver::kNvmlVersion2<driver::NvmlGpuProfileInfoV2>;
  if (call<"nvmlDeviceGetGpuInstanceProfileInfoV">(gpu.device, number, &profile.info) != driver::kNvmlSuccess)
    return std::nullopt;
  profile.name = without_mig(profile.info.name);
  profile.free = ask<"nvmlDeviceGetGpuInstanceRemainingCapacity", unsigned>(gpu.device, profile.info.id).value_or(0);
  profile.placements = placements_of<"nvmlDeviceGetGpuInstancePossiblePlacements_v2">(gpu.device, profile.info.id);
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
  for (const GpuProfile& profile : gpu_profiles(gpu))
    add_instances<"nvmlDeviceGetGpuInstances", "nvmlGpuInstanceGetInfo">(found, gpu.device, profile, ids);
  return found;
}

std::vector<ComputeProfile> compute_profiles(const GpuInstance& instance) {
  std::vector<ComputeProfile> profiles;
  for (unsigned number = 0; number < driver::kNvmlComputeProfilesAsked; ++number) {
    ComputeProfile profile;
    profile.info.version = driver::kNvmlVersion2<driver::NvmlComputeProfileInfoV2>;
    if (call<"nvmlGpuInstanceGetComputeInstanceProfileInfoV">(instance.handle, number, driver::kNvmlSharedEngines,
                                                              &profile.info) != driver::kNvmlSuccess)
      continue;
    profile.name = without_mig(profile.info.name);
    profile.free = ask<"nvmlGpuInstanceGetComputeInstanceRemainingCapacity", unsigned>(instance.handle, profile.info.id)
                       .value_or(0);
    profile.whole = profile.info.slices == instance.profile.info.slices;
    profile.placements =
        placements_of<"nvmlGpuInstanceGetComputeInstancePossiblePlacements">(instance.handle, profile.info.id);
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<ComputeInstance> compute_instances(const GpuInstance& instance, std::span<const int> ids) {
  std::vector<ComputeInstance> found;
  for (const ComputeProfile& profile : compute_profiles(instance))
    add_instances<"nvmlGpuInstanceGetComputeInstances", "nvmlComputeInstanceGetInfo_v2">(found, instance.handle,
                                                                                         profile, ids);
  return found;
}

}  // namespace partita::emulator::programs
