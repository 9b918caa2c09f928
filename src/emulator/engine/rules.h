// The driver's rules on one GPU, as questions about its spec and its record. Pure.
#pragma once

#include <optional>

#include "emulator/engine/nvml_return.h"
#include "emulator/engine/records.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

// By profile id (what nvidia-smi prints); nullptr when the GPU has no such profile.
const ProfileSpec* find_profile(const GpuSpec& gpu, int profile_id);
const ComputeProfileSpec* find_compute_profile(const ProfileSpec& profile, int nvml_profile);

// The id that a place gives: whole 0, halves 1-2, quarters 3-6, eighths 7-14, counted by the physical slot. On a
// mirrored board the slot is half the grid away from the start that users see.
int gpu_instance_id(const GpuSpec& gpu, int start, int size);

// Where an instance of the profile would go now: the start asked for, or the first free one in the driver's order.
// kInvalidArgument: `start` is not in the profile's list. kInsufficientResources: no room, the profile's limit is
// reached, or the media engines are taken.
NvmlReturn choose_place(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile,
                        std::optional<int> start, int driver_major, int& chosen);
// How many more instances of the profile could be made one after the other.
int remaining_instances(const GpuSpec& gpu, const GpuRecord& record, const ProfileSpec& profile, int driver_major);

// The same inside a GPU instance: compute slices, lowest free start, lowest free id.
NvmlReturn choose_compute_place(const InstanceRecord& instance, const ComputeProfileSpec& profile,
                                std::optional<int> start, int& chosen);
int remaining_compute(const InstanceRecord& instance, const ComputeProfileSpec& profile);
int lowest_free_compute_id(const InstanceRecord& instance);

// Syspipe that a compute instance gets: that of its first compute slice, counting eighths of the GPU by physical slot.
// (The real choice is firmware's and not known; this one is fixed by the place, so UUIDs are.)
int syspipe_of(const GpuSpec& gpu, const InstanceRecord& instance, int compute_start);

// Memory of an instance of the profile: where its own figure is not known, its share of the GPU by memory slices.
inline std::uint64_t instance_memory_mib(const GpuSpec& gpu, const ProfileSpec& profile) {
  if (profile.memory_mib != 0 || gpu.memory_slices == 0) return profile.memory_mib;
  return gpu.memory_mib * static_cast<unsigned>(profile.memory_slices) / static_cast<unsigned>(gpu.memory_slices);
}

// Memory that the holders of one GPU instance (-1: of the whole GPU, its instances included) took, of those for which
// counts(holder) is true.
template <class Counts>
std::uint64_t held_memory(const GpuRecord& record, int gpu_instance, Counts counts) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if ((gpu_instance < 0 || h.gpu_instance == gpu_instance) && counts(h)) sum += h.memory_bytes;
  }
  return sum;
}

// Is a process on the whole GPU, on a GPU instance, on a compute instance of it?
bool whole_gpu_busy(const GpuRecord& record);
bool instance_busy(const GpuRecord& record, int gpu_instance);
bool compute_busy(const GpuRecord& record, int gpu_instance, int compute_instance);

}  // namespace partita::emulator
