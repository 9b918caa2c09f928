// Creating and destroying. Each instance is told as it is made; the first that fails ends the command, and what was
// made stays, as with NVIDIA's program.
#include <charconv>
#include <cstdio>

#include "emulator/programs/mig.h"

namespace partita::emulator::programs {

namespace {

struct Wanted {
  std::string profile;  // "9", "3g.20gb" or "MIG 3g.20gb"
  std::optional<unsigned> start;
};

Wanted wanted_of(std::string text) {
  Wanted wanted;
  const std::size_t colon = text.find(':');
  unsigned start = 0;
  if (colon != std::string::npos &&
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), start).ec == std::errc{}) {
    wanted.start = start;
    text.resize(colon);
  }
  wanted.profile = text.starts_with("MIG ") ? text.substr(4) : text;
  return wanted;
}

template <class Profile>
const Profile* find_profile(const std::vector<Profile>& profiles, const std::string& wanted) {
  for (const Profile& profile : profiles)
    if (std::to_string(profile.info.id) == wanted || profile.name == wanted) return &profile;
  return nullptr;
}

// Placements of the profile have one size.
std::optional<driver::NvmlPlacement> placement_at(const std::vector<driver::NvmlPlacement>& placements,
                                                  unsigned start) {
  for (const auto& placement : placements)
    if (placement.start == start) return placement;
  return std::nullopt;
}

int create(const Gpu& gpu, const GpuProfile& profile, std::optional<unsigned> start, NvmlGpuInstance* made) {
  if (!start) return call<"nvmlDeviceCreateGpuInstance">(gpu.device, profile.info.id, made);
  const auto placement = placement_at(profile.placements, *start);
  if (!placement) return driver::kNvmlInvalidArgument;
  return call<"nvmlDeviceCreateGpuInstanceWithPlacement">(gpu.device, profile.info.id, &*placement, made);
}

int create(const GpuInstance& instance, const ComputeProfile& profile, std::optional<unsigned> start,
           NvmlComputeInstance* made) {
  if (!start) return call<"nvmlGpuInstanceCreateComputeInstance">(instance.handle, profile.info.id, made);
  const auto placement = placement_at(profile.placements, *start);
  if (!placement) return driver::kNvmlInvalidArgument;
  return call<"nvmlGpuInstanceCreateComputeInstanceWithPlacement">(instance.handle, profile.info.id, &*placement, made);
}

int failed(const char* what, int answer) {
  std::printf("Failed to %s: %s\n", what, error_text(answer).c_str());
  return exit_status_of(answer);
}

int make_compute(const Gpu& gpu, const GpuInstance& instance, const std::optional<std::string>& wanted_text) {
  const std::vector<ComputeProfile> profiles = compute_profiles(instance);
  const Wanted wanted = wanted_text ? wanted_of(*wanted_text) : Wanted{};
  const ComputeProfile* profile = nullptr;
  for (const ComputeProfile& candidate : profiles)
    if (candidate.whole && !wanted_text) profile = &candidate;
  if (wanted_text) profile = find_profile(profiles, wanted.profile);
  NvmlComputeInstance made{};
  const int answer = profile == nullptr ? static_cast<int>(driver::kNvmlInvalidArgument)
                                        : create(instance, *profile, wanted.start, &made);
  if (answer != driver::kNvmlSuccess) {
    std::printf("Unable to create a compute instance on GPU %2u GPU instance ID %2u using profile %s: %s\n", gpu.index,
                instance.info.id,
                profile != nullptr ? std::to_string(profile->info.id).c_str() : wanted.profile.c_str(),
                error_text(answer).c_str());
    return answer;
  }
  const auto info = ask<"nvmlComputeInstanceGetInfo_v2", driver::NvmlComputeInstanceInfo>(made);
  std::printf(
      "Successfully created compute instance ID %2u on GPU %2u GPU instance ID %2u using profile MIG %s (ID %2u)\n",
      info ? info->id : 0, gpu.index, instance.info.id, profile->name.c_str(), profile->info.id);
  return answer;
}

int make_gpu(const Gpu& gpu, const std::string& text, bool with_compute) {
  const Wanted wanted = wanted_of(text);
  const std::vector<GpuProfile> profiles = gpu_profiles(gpu);
  const GpuProfile* profile = find_profile(profiles, wanted.profile);
  NvmlGpuInstance made{};
  int answer =
      profile == nullptr ? static_cast<int>(driver::kNvmlInvalidArgument) : create(gpu, *profile, wanted.start, &made);
  if (answer != driver::kNvmlSuccess) {
    std::printf("Unable to create a GPU instance on GPU %2u using profile %s: %s\n", gpu.index,
                profile != nullptr ? std::to_string(profile->info.id).c_str() : wanted.profile.c_str(),
                error_text(answer).c_str());
    return answer;
  }
  GpuInstance instance{made, {}, *profile};
  answer = call<"nvmlGpuInstanceGetInfo">(made, &instance.info);
  std::printf("Successfully created GPU instance ID %2u on GPU %2u using profile MIG %s (ID %2u)\n", instance.info.id,
              gpu.index, profile->name.c_str(), profile->info.id);
  return with_compute && answer == driver::kNvmlSuccess ? make_compute(gpu, instance, std::nullopt) : answer;
}

}  // namespace

int create_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments) {
  for (const Gpu& gpu : gpus)
    for (const std::string& profile : arguments.values)
      if (const int answer = make_gpu(gpu, profile, arguments.default_compute); answer != driver::kNvmlSuccess)
        return failed("create GPU instances", answer);
  return 0;
}

int create_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::size_t instances = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances)) {
      ++instances;
      std::vector<std::optional<std::string>> wanted(arguments.values.begin(), arguments.values.end());
      if (wanted.empty()) wanted.emplace_back();
      for (const auto& profile : wanted)
        if (const int answer = make_compute(gpu, instance, profile); answer != driver::kNvmlSuccess)
          return failed("create compute instances", answer);
    }
  if (instances > 0) return 0;
  std::puts("No GPU instances found: Not Found");
  return driver::kNvmlNotFound;
}

int destroy_gpu_instances(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::size_t instances = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances)) {
      ++instances;
      if (const int answer = call<"nvmlGpuInstanceDestroy">(instance.handle); answer != driver::kNvmlSuccess) {
        std::printf("Unable to destroy GPU instance ID %2u from GPU %2u: %s\n", instance.info.id, gpu.index,
                    error_text(answer).c_str());
        return failed("destroy GPU instances", answer);
      }
      std::printf("Successfully destroyed GPU instance ID %2u from GPU %2u\n", instance.info.id, gpu.index);
    }
  if (instances > 0) return 0;
  std::puts("No GPU instances found: Not Found");
  return driver::kNvmlNotFound;
}

int destroy_compute_instances(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::size_t instances = 0;
  for (const Gpu& gpu : gpus)
    for (const GpuInstance& instance : gpu_instances(gpu, arguments.gpu_instances))
      for (const ComputeInstance& compute : compute_instances(instance, arguments.compute_instances)) {
        ++instances;
        if (const int answer = call<"nvmlComputeInstanceDestroy">(compute.handle); answer != driver::kNvmlSuccess) {
          std::printf("Unable to destroy compute instance ID %2u from GPU %2u GPU instance ID %2u: %s\n",
                      compute.info.id, gpu.index, instance.info.id, error_text(answer).c_str());
          return failed("destroy compute instances", answer);
        }
        std::printf("Successfully destroyed compute instance ID %2u from GPU %2u GPU instance ID %2u\n",
                    compute.info.id, gpu.index, instance.info.id);
      }
  if (instances > 0) return 0;
  std::puts("No compute instances found: Not Found");
  return driver::kNvmlNotFound;
}

}  // namespace partita::emulator::programs
