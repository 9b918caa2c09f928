// The structs of NVML's C interface, as far as the library answers. Declared anew from the documented layouts; the
// static_asserts pin sizes and the offsets that padding decides. Functions take and return these across the C edge.
#pragma once

#include <cstddef>
#include <cstdint>

namespace partita::emulator::abi {

using Return = int;
// Opaque to clients; handle.h says what is in it.
using DeviceHandle = void*;
using GpuInstanceHandle = void*;
using ComputeInstanceHandle = void*;

inline constexpr unsigned kGpuInstanceProfileCount = 0x11;
inline constexpr unsigned kComputeInstanceProfileCount = 9;
inline constexpr unsigned kNoInstance = 0xffffffff;  // in process lists: not in MIG
inline constexpr std::size_t kNvLinkMax = 18;

// A struct's version field: its size and its number.
template <class T>
constexpr unsigned version_of(unsigned number) {
  return static_cast<unsigned>(sizeof(T)) | number << 24;
}

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68);

struct PciInfoExt {
  unsigned version;
  unsigned domain, bus, device;
  unsigned pci_device_id, pci_subsystem_id;
  unsigned base_class, sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64);

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, total) == 8);

struct Bar1Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};

struct ProcessInfoV1 {
  unsigned pid;
  unsigned long long used_memory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfoV1) == 16 && sizeof(ProcessInfo) == 24);

struct Attributes {
  unsigned multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned gpu_instance_slices, compute_instance_slices;
  unsigned long long memory_mib;
};
static_assert(sizeof(Attributes) == 40);

struct Placement {
  unsigned start, size;
};

struct GpuInstanceProfileInfo {
  unsigned id, p2p, slices, instances, multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned long long memory_mib;
};
struct GpuInstanceProfileInfoV2 {
  unsigned version;
  unsigned id, p2p, slices, instances, multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned long long memory_mib;
  char name[96];
};
struct GpuInstanceProfileInfoV3 {
  unsigned version;
  unsigned id, slices, instances, multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned long long memory_mib;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48 && sizeof(GpuInstanceProfileInfoV2) == 152);
static_assert(sizeof(GpuInstanceProfileInfoV3) == 152 && offsetof(GpuInstanceProfileInfoV3, memory_mib) == 40);
inline constexpr unsigned kCapabilityGraphics = 0x2;
inline constexpr unsigned kComputeCapabilityGraphics = 0x1;

struct GpuInstanceInfo {
  DeviceHandle device;
  unsigned id, profile_id;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24);

struct ComputeInstanceProfileInfo {
  unsigned id, slices, instances, multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
};
struct ComputeInstanceProfileInfoV2 {
  unsigned version;
  ComputeInstanceProfileInfo info;
  char name[96];
};
struct ComputeInstanceProfileInfoV3 {
  unsigned version;
  ComputeInstanceProfileInfo info;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36 && sizeof(ComputeInstanceProfileInfoV2) == 136);

struct ComputeInstanceInfoV1 {  // the first version has no placement
  DeviceHandle device;
  GpuInstanceHandle gpu_instance;
  unsigned id, profile_id;
};
struct ComputeInstanceInfo {
  DeviceHandle device;
  GpuInstanceHandle gpu_instance;
  unsigned id, profile_id;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceInfo) == 32);

enum class ValueType : int { real = 0, unsigned_int = 1, unsigned_long = 2, unsigned_long_long = 3 };
struct FieldValue {
  unsigned field, scope;
  long long timestamp_us, latency_us;
  ValueType type;
  Return answer;
  union {
    double real;
    unsigned unsigned_int;
    unsigned long long unsigned_long_long;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

}  // namespace partita::emulator::abi

// Marks what the library shows.
#define NVML_EXPORT extern "C" __attribute__((visibility("default"))) ::partita::emulator::abi::Return
