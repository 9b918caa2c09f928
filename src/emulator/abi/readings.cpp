// Memory, load, power, heat. The law: a device that a process holds is fully loaded, one that nothing holds is idle.
// Memory in use is what the holders said; power is 0.5 W per SM idle and 3 W per SM of the held part; heat follows
// power from 30 to 65 degrees. Whole-board readings do not exist for MIG devices.
#include <algorithm>

#include "emulator/abi/guard.h"
#include "emulator/engine/processes.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kIdleMilliwattsPerSm = 500, kBusyMilliwattsPerSm = 3000;
constexpr unsigned kIdleDegrees = 30, kBusyDegrees = 65;

struct MemoryUse {
  unsigned long long total = 0, used = 0;
};

template <class Counts>
unsigned long long held_memory(const GpuRecord& record, Counts counts) {
  unsigned long long sum = 0;
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if (counts(h) && process_lives(h.pid, h.start_time)) sum += h.memory_bytes;
  }
  return sum;
}

// Memory belongs to the GPU instance: all MIG devices of one GPU instance share it and see the same use.
Return memory_use(const Target& target, MemoryUse& use) {
  int only = -1;  // GPU instance that counts; -1: all
  use.total = static_cast<unsigned long long>(target.spec.memory_mib) << 20;
  if (target.is_mig()) {
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    only = found.gpu_instance->id;
    use.total = memory_mib(target.spec, target.spec.profiles[found.gpu_instance->profile]) << 20;
  }
  if (target.summary.holder_count > 0) {
    GpuRecord record;
    target.engine.snapshot(target.handle.gpu, record);
    use.used = held_memory(record, [&](const HolderRecord& h) { return only < 0 || h.gpu_instance == only; });
  }
  use.used = std::min(use.used, use.total);
  return kSuccess;
}

// SMs that holders' devices have; all of them when the whole GPU is held.
unsigned held_sms(const Target& target) {
  if (target.summary.holder_count == 0) return 0;
  GpuRecord record;
  target.engine.snapshot(target.handle.gpu, record);
  bool held[kMaxGpuInstances] = {};
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if (!process_lives(h.pid, h.start_time)) continue;
    if (h.gpu_instance < 0) return to_unsigned(target.spec.sm);
    held[h.gpu_instance] = true;
  }
  unsigned sms = 0;
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    const InstanceRecord& instance = record.instances[i];
    if (instance.id < kMaxGpuInstances && held[instance.id])
      sms += to_unsigned(target.spec.profiles[instance.profile].sm);
  }
  return std::min(sms, to_unsigned(target.spec.sm));
}

template <class T>
Return give(T* to, T value) {
  if (to == nullptr) return kInvalidArgument;
  *to = value;
  return kSuccess;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (memory == nullptr) return kInvalidArgument;
    MemoryUse use;
    if (const Return answer = memory_use(target, use); answer != kSuccess) return answer;
    if (use.total == 0) return kNotSupported;  // memory shared with the host, or not known
    *memory = {use.total, use.total - use.used, use.used};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (memory == nullptr) return kInvalidArgument;
    if (memory->version != nvmlMemory_v2) return kVersionMismatch;
    MemoryUse use;
    if (const Return answer = memory_use(target, use); answer != kSuccess) return answer;
    if (use.total == 0) return kNotSupported;
    *memory = {memory->version, use.total, 0, use.total - use.used, use.used};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* memory) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (memory == nullptr) return kInvalidArgument;
    unsigned long long total = target.spec.bar1_mib << 20;
    if (target.is_mig()) {
      Instances found;
      if (!find_instances(target.engine, target.handle, found)) return kNotFound;
      const ProfileSpec& profile = target.spec.profiles[found.gpu_instance->profile];
      total = total * to_unsigned(profile.memory_slices) / std::max(1u, to_unsigned(target.spec.memory_slices));
    }
    if (total == 0) return kNotSupported;
    *memory = {total, total, 0};
    return kSuccess;
  });
}

// Not reported in MIG mode, neither for the GPU nor for its MIG devices.
NVML_EXPORT nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (utilization == nullptr) return kInvalidArgument;
    if (target.summary.mig_current != 0) return kNotSupported;
    MemoryUse use;
    if (const Return answer = memory_use(target, use); answer != kSuccess) return answer;
    const bool busy = held_sms(target) > 0;
    *utilization = {busy ? 100u : 0u, use.total == 0 ? 0u : static_cast<unsigned>(use.used * 100 / use.total)};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (target.spec.sm == 0) return kNotSupported;
    const unsigned busy = held_sms(target);
    return give(milliwatts, busy * kBusyMilliwattsPerSm + (to_unsigned(target.spec.sm) - busy) * kIdleMilliwattsPerSm);
  });
}

NVML_EXPORT nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned* degrees) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (sensor != 0) return kInvalidArgument;
    const unsigned all = std::max(1u, to_unsigned(target.spec.sm));
    return give(degrees, kIdleDegrees + (kBusyDegrees - kIdleDegrees) * held_sms(target) / all);
  });
}

// Persistence mode on, compute mode default, ECC on where there is memory with ECC.
NVML_EXPORT nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned* mode) {
  return on_device(__func__, device, Takes::gpus, [&](const Target&) { return give(mode, 1u); });
}

NVML_EXPORT nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned* mode) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target&) { return give(mode, 0u); });
}

NVML_EXPORT nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (target.spec.units == 0) return kNotSupported;
    if (current == nullptr || pending == nullptr) return kInvalidArgument;
    *current = *pending = 1;
    return kSuccess;
  });
}
