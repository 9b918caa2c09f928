#include "emulator/engine/rules.h"

#include <algorithm>
#include <span>

namespace partita::emulator {

namespace {

std::span<const InstanceRecord> instances_of(const GpuRecord& record) {
  return {record.instances.data(), record.instance_count};
}
std::span<const ComputeRecord> compute_of(const InstanceRecord& instance) {
  return {instance.compute.data(), instance.compute_count};
}
std::span<const HolderRecord> holders_of(const GpuRecord& record) {
  return {record.holders.data(), record.holder_count};
}

bool overlap(int start, int size, int other_start, int other_size) {
  return start < other_start + other_size && other_start < start + size;
}

bool contains(const std::vector<int>& values, int value) { return std::ranges::find(values, value) != values.end(); }

int index_of(const GpuSpec& gpu, const ProfileSpec& profile) {
  return static_cast<int>(&profile - gpu.profiles.data());
}

// One +me at most: the OFA and the shared JPEG engine are single. An instance with +me.all owns every media engine, so
// that only -me instances exist beside it.
bool media_allow(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile) {
  return std::ranges::all_of(instances_of(record), [&](const InstanceRecord& instance) {
    const ProfileSpec& other = gpu.profiles[instance.profile];
    if (profile.me && other.me) return false;
    if (profile.me_all && !other.no_me) return false;
    return !other.me_all || profile.no_me;
  });
}

// A 4-slice instance at 0 beside a 3-slice one at 4 needs driver R510 or newer.
bool old_driver_refuses(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile, int driver_major) {
  if (driver_major >= 510 || gpu.compute_slices != 7) return false;
  return std::ranges::any_of(instances_of(record), [&](const InstanceRecord& instance) {
    return gpu.profiles[instance.profile].compute_slices + profile.compute_slices == 7;
  });
}

int count_of(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile) {
  return static_cast<int>(std::ranges::count(instances_of(record), index_of(gpu, profile), &InstanceRecord::profile));
}

// Everything but the place.
bool kind_allowed(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile, int driver_major) {
  return record.instance_count < kMaxLiveGpuInstances && count_of(gpu, record, profile) < profile.max_instances &&
         media_allow(gpu, record, profile) && !old_driver_refuses(gpu, record, profile, driver_major);
}

bool place_free(const GpuRecord& record, int start, int size) {
  return std::ranges::none_of(instances_of(record),
                              [&](const InstanceRecord& i) { return overlap(start, size, i.start, i.size); });
}

bool compute_place_free(const InstanceRecord& instance, int start, int size) {
  return std::ranges::none_of(compute_of(instance),
                              [&](const ComputeRecord& c) { return overlap(start, size, c.start, c.size); });
}

int count_of(const InstanceRecord& instance, const ComputeProfileSpec& profile) {
  return static_cast<int>(std::ranges::count(compute_of(instance), profile.nvml_profile, &ComputeRecord::profile));
}

}  // namespace

const ProfileSpec* find_profile(const GpuSpec& gpu, int profile_id) {
  const auto found = std::ranges::find(gpu.profiles, profile_id, &ProfileSpec::id);
  return found == gpu.profiles.end() ? nullptr : &*found;
}

const ComputeProfileSpec* find_compute_profile(const ProfileSpec& profile, int nvml_profile) {
  const auto found = std::ranges::find(profile.compute, nvml_profile, &ComputeProfileSpec::nvml_profile);
  return found == profile.compute.end() ? nullptr : &*found;
}

int gpu_instance_id(const GpuSpec& gpu, int start, int size) {
  const int parts = gpu.units / size;
  const int slot = gpu.mirrored ? (start + gpu.units / 2) % gpu.units : start;
  return parts == 1 ? 0 : parts - 1 + slot / size;
}

NvmlReturn choose_place(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile,
                        std::optional<int> start, int driver_major, int& chosen) {
  if (start && !contains(profile.starts, *start)) return kInvalidArgument;
  if (!kind_allowed(gpu, record, profile, driver_major)) return kInsufficientResources;
  if (start) {
    chosen = *start;
    return place_free(record, *start, profile.size) ? kSuccess : kInsufficientResources;
  }
  for (const int candidate : profile.driver_order) {
    if (place_free(record, candidate, profile.size)) {
      chosen = candidate;
      return kSuccess;
    }
  }
  return kInsufficientResources;
}

int remaining_instances(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile, int driver_major) {
  if (!kind_allowed(gpu, record, profile, driver_major)) return 0;
  const auto free = static_cast<int>(
      std::ranges::count_if(profile.starts, [&](int start) { return place_free(record, start, profile.size); }));
  const int by_engines = profile.me || profile.me_all ? 1 : kMaxLiveGpuInstances - record.instance_count;
  return std::min({free, profile.max_instances - count_of(gpu, record, profile), by_engines});
}

NvmlReturn choose_compute_place(const InstanceRecord& instance, const ComputeProfileSpec& profile,
                                std::optional<int> start, int& chosen) {
  if (start && !contains(profile.starts, *start)) return kInvalidArgument;
  if (instance.compute_count >= kMaxComputeInstances) return kInsufficientResources;
  if (count_of(instance, profile) >= profile.max_instances) return kInsufficientResources;
  for (const int candidate : profile.starts) {
    if (start && candidate != *start) continue;
    if (compute_place_free(instance, candidate, profile.size)) {
      chosen = candidate;
      return kSuccess;
    }
  }
  return kInsufficientResources;
}

int remaining_compute(const InstanceRecord& instance, const ComputeProfileSpec& profile) {
  int free = 0, end = 0;
  for (const int start : profile.starts) {
    if (start < end || !compute_place_free(instance, start, profile.size)) continue;
    ++free;
    end = start + profile.size;
  }
  return std::clamp(profile.max_instances - count_of(instance, profile), 0, free);
}

int lowest_free_compute_id(const InstanceRecord& instance) {
  int id = 0;
  while (partita::emulator::compute_of(instance, id) != nullptr) ++id;
  return id;
}

int syspipe_of(const GpuSpec& gpu, const InstanceRecord& instance, int compute_start) {
  const int parts = gpu.units / instance.size;
  const int eighth = (instance.id - (parts == 1 ? 0 : parts - 1)) * 8 / parts;
  return (eighth + compute_start) % 8;
}

bool whole_gpu_busy(const GpuRecord& record) {
  return std::ranges::any_of(holders_of(record), [](const HolderRecord& h) { return h.gpu_instance < 0; });
}
bool instance_busy(const GpuRecord& record, int gpu_instance) {
  return std::ranges::any_of(holders_of(record), [&](const HolderRecord& h) { return h.gpu_instance == gpu_instance; });
}
bool compute_busy(const GpuRecord& record, int gpu_instance, int compute_instance) {
  return std::ranges::any_of(holders_of(record), [&](const HolderRecord& h) {
    return h.gpu_instance == gpu_instance && h.compute_instance == compute_instance;
  });
}

}  // namespace partita::emulator
