// MIG mode, and MIG devices: pairs of a GPU instance and a compute instance of it.
#include "emulator/abi/guard.h"
#include "emulator/abi/mig_index.h"
#include "emulator/engine/rules.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

Return attributes_of(const char* function, const void* device, nvmlDeviceAttributes_t* attributes) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (attributes == nullptr) return kInvalidArgument;
    if (!target.is_mig()) return kNotSupported;
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    const ProfileSpec& profile = target.spec.profiles[found.gpu_instance->profile];
    const ComputeProfileSpec* compute = find_compute_profile(profile, found.compute->profile);
    *attributes = {to_unsigned(compute != nullptr && compute->sm != 0 ? compute->sm : profile.sm),
                   to_unsigned(profile.copy),
                   to_unsigned(profile.decoder),
                   to_unsigned(profile.encoder),
                   to_unsigned(profile.jpeg),
                   to_unsigned(profile.ofa),
                   to_unsigned(profile.compute_slices),
                   found.compute->slices,
                   instance_memory_mib(target.spec, profile)};
    return kSuccess;
  });
}

// At most one MIG device per compute slice.
unsigned most_mig_devices(const Target& target) {
  return target.mig_is_on() ? to_unsigned(target.spec.compute_slices) : 0;
}

template <class Choose>
Return instance_number(const char* function, const void* device, unsigned* id, Choose choose) noexcept {
  return on_device(function, device, Takes::mig_devices, [&](const Target& target) -> Return {
    if (id == nullptr) return kInvalidArgument;
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    *id = choose(found);
    return kSuccess;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (current == nullptr || pending == nullptr) return kInvalidArgument;
    if (target.spec.units == 0) return kNotSupported;
    *current = target.summary.mig_current;
    *pending = target.summary.mig_pending;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned mode, Return* activation) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (mode > 1 || activation == nullptr) return kInvalidArgument;
    NvmlReturn outcome = kSuccess;
    const NvmlReturn answer = target.engine.set_mig_mode(target.handle.gpu, mode == 1, outcome);
    if (answer == kSuccess) *activation = outcome;
    return answer;
  });
}

NVML_EXPORT nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_mig) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (is_mig == nullptr) return kInvalidArgument;
    *is_mig = target.is_mig() ? 1 : 0;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned* id) {
  return instance_number(__func__, device, id, [](const Instances& found) { return found.gpu_instance->id; });
}

NVML_EXPORT nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned* id) {
  return instance_number(__func__, device, id, [](const Instances& found) { return found.compute->id; });
}

NVML_EXPORT nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    *count = most_mig_devices(target);
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t* mig_device) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (mig_device == nullptr) return kInvalidArgument;
    if (!target.mig_is_on()) return kNotSupported;
    if (index >= most_mig_devices(target)) return kInvalidArgument;
    GpuSnapshot room;
    GpuRecord& record = room.record;
    target.engine.snapshot(target.handle.gpu, record);
    const bool found = any_mig_device(record, [&](int at, const InstanceRecord& gi, const ComputeRecord& ci) {
      if (static_cast<unsigned>(at) != index) return false;
      *mig_device = pack({HandleKind::mig_device, target.handle.gpu, gi.id, ci.id, ci.serial});
      return true;
    });
    return found ? kSuccess : kNotFound;
  });
}

NVML_EXPORT nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig_device, nvmlDevice_t* device) {
  return on_device(__func__, mig_device, Takes::mig_devices, [&](const Target& target) -> Return {
    if (device == nullptr) return kInvalidArgument;
    *device = gpu_handle(target.handle.gpu);
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return attributes_of(__func__, device, attributes);
}
NVML_EXPORT nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return attributes_of(__func__, device, attributes);
}
