// What changes in an emulated node, as plain records of the mapped state. Arrays are kept in ascending id order; only
// the first `count` entries mean anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace partita::emulator {

inline constexpr int kMaxGpus = 32;
inline constexpr int kMaxGpuInstances = 15;     // ids 0..14, tied to the place
inline constexpr int kMaxLiveGpuInstances = 8;  // of one GPU at a time
inline constexpr int kMaxComputeInstances = 8;  // of one GPU instance
inline constexpr int kMaxHolders = 128;         // processes on one GPU
inline constexpr int kMaxFaults = 16;

struct ComputeRecord {
  std::uint32_t serial = 0;  // never given twice in the life of the node
  std::uint8_t id = 0;
  std::uint8_t profile = 0;  // NVML compute profile
  std::uint8_t start = 0, size = 0, slices = 0;
  std::uint8_t syspipe = 0;
  std::uint8_t unused[6] = {};
  std::array<std::uint8_t, 16> uuid{};
};

struct InstanceRecord {
  std::uint32_t serial = 0;
  std::uint8_t id = 0;
  std::uint8_t profile = 0;  // index in GpuSpec::profiles
  std::uint8_t start = 0, size = 0;
  std::uint8_t compute_count = 0;
  std::uint8_t unused[7] = {};
  std::array<ComputeRecord, kMaxComputeInstances> compute{};
};

struct HolderRecord {
  std::uint64_t start_time = 0;
  std::uint64_t memory_bytes = 0;
  std::int32_t pid = 0;
  std::int16_t gpu_instance = -1, compute_instance = -1;
};

// Mode and counts: the first word of a GPU's record.
struct GpuHead {
  std::uint8_t mig_current = 0, mig_pending = 0, lost = 0;
  std::uint8_t instance_count = 0;
  std::uint16_t holder_count = 0;
  std::uint8_t unused[2] = {};
};

struct GpuRecord : GpuHead {
  std::array<InstanceRecord, kMaxLiveGpuInstances> instances{};
  std::array<HolderRecord, kMaxHolders> holders{};

  const InstanceRecord* instance(int id) const {
    for (std::size_t i = 0; i < instance_count; ++i) {
      if (instances[i].id == id) return &instances[i];
    }
    return nullptr;
  }
  InstanceRecord* instance(int id) { return const_cast<InstanceRecord*>(std::as_const(*this).instance(id)); }
};

inline const ComputeRecord* compute_of(const InstanceRecord& instance, int id) {
  for (std::size_t i = 0; i < instance.compute_count; ++i) {
    if (instance.compute[i].id == id) return &instance.compute[i];
  }
  return nullptr;
}

struct NodeRecord {
  std::uint64_t boot_id = 0;
  std::uint64_t change = 0;  // counts commits that the files under root/ must follow
  std::uint32_t next_serial = 1;
  std::uint32_t unused = 0;
};

struct FaultRecord {
  char function[64] = {};
  std::int32_t answer = 0, calls = 0, gpu = -1, unused = 0;
};

struct FaultsRecord {
  std::uint32_t count = 0, unused = 0;
  std::array<FaultRecord, kMaxFaults> rows{};
};

template <class Record>
inline constexpr bool kShareable = std::is_trivially_copyable_v<Record> && sizeof(Record) % 8 == 0;
static_assert(kShareable<GpuRecord> && kShareable<NodeRecord> && kShareable<FaultsRecord>);
static_assert(sizeof(GpuHead) == 8 && sizeof(InstanceRecord) % 8 == 0 && sizeof(HolderRecord) == 24);

}  // namespace partita::emulator
