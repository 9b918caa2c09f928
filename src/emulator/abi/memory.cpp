// Memory and BAR1. Memory in use is what the holders said; it belongs to the GPU instance: all MIG devices of one GPU
// instance share it and see the same use.
#include <algorithm>

#include "emulator/abi/guard.h"
#include "emulator/engine/processes.h"
#include "emulator/engine/rules.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

struct MemoryUse {
  unsigned long long total = 0, used = 0;
  unsigned long long free() const { return total - used; }
};

unsigned long long used_memory(const Target& target, int gpu_instance) {
  if (target.summary.holder_count == 0) return 0;
  GpuSnapshot room;
  GpuRecord& record = room.record;
  target.engine.snapshot(target.handle.gpu, record);
  return held_memory(record, gpu_instance,
                     [](const HolderRecord& h) { return process_lived_just_now(h.pid, h.start_time); });
}

Return memory_use(const Target& target, MemoryUse& use) {
  if (target.is_mig()) {
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    use.total = instance_memory_mib(target.spec, target.spec.profiles[found.gpu_instance->profile]) << 20;
    use.used = used_memory(target, found.gpu_instance->id);
  } else {
    use.total = static_cast<unsigned long long>(target.spec.memory_mib) << 20;
    use.used = used_memory(target, -1);
  }
  if (use.total == 0) return kNotSupported;  // shared with the host, or not known
  use.used = std::min(use.used, use.total);
  return kSuccess;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (memory == nullptr) return kInvalidArgument;
    MemoryUse use;
    const Return answer = memory_use(target, use);
    if (answer == kSuccess) *memory = {use.total, use.free(), use.used};
    return answer;
  });
}

NVML_EXPORT nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (memory == nullptr) return kInvalidArgument;
    if (memory->version != nvmlMemory_v2) return kVersionMismatch;
    MemoryUse use;
    const Return answer = memory_use(target, use);
    if (answer == kSuccess) *memory = {memory->version, use.total, 0, use.free(), use.used};
    return answer;
  });
}

// A MIG device's share follows its memory slices.
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

NVML_EXPORT nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (bits == nullptr) return kInvalidArgument;
    return target.spec.memory_bus_bits == 0 ? kNotSupported : give(bits, target.spec.memory_bus_bits);
  });
}

// Nothing is protected where confidential computing is off.
NVML_EXPORT nvmlDeviceGetConfComputeProtectedMemoryUsage(nvmlDevice_t device, nvmlMemory_t* memory) {
  return gpu_value(__func__, device, memory, [](const Target&) { return nvmlMemory_t{}; });
}
