// The part of NVML's C interface that Partita uses, declared by ourselves so that building needs no NVIDIA header.
// Layouts follow NVIDIA's public interface (NVML API 12 and 13, 64-bit); the assertions below hold us to it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace partita::driver {

// NVML_SUCCESS and the NVML_ERROR_* numbers that have a meaning of their own here; others are kept as numbers.
enum NvmlReturn : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
  kNvmlLibRmVersionMismatch = 18,
  kNvmlInUse = 19,
  kNvmlInsufficientResources = 23,
  kNvmlArgumentVersionMismatch = 25,
};

// Opaque handles.
struct NvmlDeviceTag;
struct NvmlGpuInstanceTag;
struct NvmlComputeInstanceTag;
using NvmlDevice = NvmlDeviceTag*;
using NvmlGpuInstance = NvmlGpuInstanceTag*;
using NvmlComputeInstance = NvmlComputeInstanceTag*;

// What NVML writes where it has no number.
inline constexpr std::uint64_t kNvmlNoValue = ~std::uint64_t{0};
inline constexpr std::uint32_t kNvmlNoInstance = 0xFFFFFFFF;

inline constexpr std::size_t kNvmlUuidSize = 96;
inline constexpr std::size_t kNvmlNameSize = 96;
inline constexpr std::size_t kNvmlVersionSize = 80;
inline constexpr unsigned kNvmlMaxLinks = 18;
inline constexpr unsigned kNvmlSharedEngines = 0;          // the only compute instance engine profile
inline constexpr std::uint32_t kNvmlRemoteIsGpu = 0;       // remote end of an NVLink
inline constexpr std::uint32_t kNvmlFieldResetless = 184;  // "is reset-less MIG supported"

// Profile numbers (NVML_GPU_INSTANCE_PROFILE_*) that tell an attribute; names of recent drivers tell it too.
enum NvmlGpuProfile : int {
  kNvmlProfile1SliceMe = 7,
  kNvmlProfile2SliceMe = 8,
  kNvmlProfile1SliceGfx = 10,
  kNvmlProfile2SliceGfx = 11,
  kNvmlProfile4SliceGfx = 12,
  kNvmlProfile1SliceNoMe = 13,
  kNvmlProfile2SliceNoMe = 14,
  kNvmlProfile1SliceAllMe = 15,
  kNvmlProfile2SliceAllMe = 16,
};
// Numbers asked for, more than are known today; a library answers INVALID_ARGUMENT to those it does not know.
inline constexpr int kNvmlGpuProfilesAsked = 32;
inline constexpr int kNvmlComputeProfilesAsked = 16;

struct NvmlMemory {
  std::uint64_t total, free, used;
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlPciInfo {  // form 3
  char bus_id_legacy[16];
  std::uint32_t domain, bus, device;
  std::uint32_t pci_device_id;  // device << 16 | vendor
  std::uint32_t pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(NvmlPciInfo) == 68 && offsetof(NvmlPciInfo, bus_id) == 36);

struct NvmlUtilization {
  std::uint32_t gpu, memory;  // percent
};
static_assert(sizeof(NvmlUtilization) == 8);

struct NvmlProcessInfo {  // forms 2 and 3
  std::uint32_t pid;
  std::uint64_t used_memory;
  std::uint32_t gpu_instance, compute_instance;
};
static_assert(sizeof(NvmlProcessInfo) == 24 && offsetof(NvmlProcessInfo, gpu_instance) == 16);

struct NvmlDeviceAttributes {
  std::uint32_t multiprocessors, copy, decoder, encoder, jpeg, ofa, gpu_instance_slices, compute_instance_slices;
  std::uint64_t memory_mib;
};
static_assert(sizeof(NvmlDeviceAttributes) == 40 && offsetof(NvmlDeviceAttributes, memory_mib) == 32);

struct NvmlFieldValue {
  std::uint32_t field, scope;
  std::int64_t timestamp_us, latency_us;
  std::uint32_t value_type, nvml_return;
  union {
    std::uint32_t u32;
    std::uint64_t u64;
  } value;
};
static_assert(sizeof(NvmlFieldValue) == 40 && offsetof(NvmlFieldValue, value) == 32);

struct NvmlPlacement {  // of GPU instances and of compute instances
  std::uint32_t start, size;
  bool operator==(const NvmlPlacement&) const = default;
};
static_assert(sizeof(NvmlPlacement) == 8);

struct NvmlGpuProfileInfo {  // form 1
  std::uint32_t id, p2p, slices, instances, multiprocessors, copy, decoder, encoder, jpeg, ofa;
  std::uint64_t memory_mib;
};
static_assert(sizeof(NvmlGpuProfileInfo) == 48 && offsetof(NvmlGpuProfileInfo, memory_mib) == 40);

struct NvmlGpuProfileInfoV2 {
  std::uint32_t version, id, p2p, slices, instances, multiprocessors, copy, decoder, encoder, jpeg, ofa;
  std::uint64_t memory_mib;
  char name[kNvmlNameSize];
};
static_assert(sizeof(NvmlGpuProfileInfoV2) == 152 && offsetof(NvmlGpuProfileInfoV2, memory_mib) == 48 &&
              offsetof(NvmlGpuProfileInfoV2, name) == 56);

struct NvmlComputeProfileInfo {  // form 1
  std::uint32_t id, slices, instances, multiprocessors, copy, decoder, encoder, jpeg, ofa;
};
static_assert(sizeof(NvmlComputeProfileInfo) == 36);

struct NvmlComputeProfileInfoV2 {
  std::uint32_t version, id, slices, instances, multiprocessors, copy, decoder, encoder, jpeg, ofa;
  char name[kNvmlNameSize];
};
static_assert(sizeof(NvmlComputeProfileInfoV2) == 136 && offsetof(NvmlComputeProfileInfoV2, name) == 40);

// What form-2 structs carry in `version`.
template <class Info>
inline constexpr std::uint32_t kNvmlVersion2 = static_cast<std::uint32_t>(sizeof(Info)) | 2U << 24;
static_assert(kNvmlVersion2<NvmlGpuProfileInfoV2> == 0x02000098);
static_assert(kNvmlVersion2<NvmlComputeProfileInfoV2> == 0x02000088);

struct NvmlGpuInstanceInfo {
  NvmlDevice device;
  std::uint32_t id, profile_id;
  NvmlPlacement placement;
};
static_assert(sizeof(NvmlGpuInstanceInfo) == 24 && offsetof(NvmlGpuInstanceInfo, placement) == 16);

struct NvmlComputeInstanceInfo {  // form 2
  NvmlDevice device;
  NvmlGpuInstance gpu_instance;
  std::uint32_t id, profile_id;
  NvmlPlacement placement;
};
static_assert(sizeof(NvmlComputeInstanceInfo) == 32 && offsetof(NvmlComputeInstanceInfo, placement) == 24);

}  // namespace partita::driver
