// What a device is: names, numbers, architecture, PCI.
#include <cstring>

#include "emulator/abi/guard.h"
#include "emulator/abi/mig_index.h"
#include "emulator/abi/pci_info.h"
#include "emulator/engine/uuid.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kBrandNvidia = 14, kBrandNvidiaRtx = 13;

// NVML_DEVICE_ARCH_* by compute capability.
unsigned architecture(const GpuSpec& gpu) {
  switch (gpu.compute_capability_major) {
    case 8:
      return gpu.compute_capability_minor == 9 ? 8 : 7;
    case 9:
      return 9;
    case 10:
    case 11:
    case 12:
      return 10;
    default:
      return 0xffffffff;
  }
}

// A MIG device is called by its compute instance: "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb".
std::string mig_name(const GpuSpec& gpu, const Instances& found) {
  const ProfileSpec& profile = gpu.profiles[found.gpu_instance->profile];
  for (const ComputeProfileSpec& compute : profile.compute) {
    if (compute.nvml_profile == found.compute->profile) return gpu.product + " MIG " + compute.name;
  }
  return gpu.product + " MIG " + profile.name;
}

// The first two versions of the struct end earlier: with the device id, and with the subsystem id.
Return old_pci_info(const char* function, const void* device, nvmlPciInfo_t* pci, std::size_t size) noexcept {
  return on_device(function, device, Takes::gpus, [&](const Target& target) -> Return {
    if (pci == nullptr) return kInvalidArgument;
    const nvmlPciInfo_t info = pci_info(target.spec);
    std::memcpy(pci, &info, size);
    return kSuccess;
  });
}

template <class T, class Value>
Return give(T* to, Value value) {
  if (to == nullptr) return kInvalidArgument;
  *to = static_cast<T>(value);
  return kSuccess;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!target.is_mig()) return copy_text(target.spec.product, name, length);
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    return copy_text(mig_name(target.spec, found), name, length);
  });
}

NVML_EXPORT nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!target.is_mig()) return copy_text(target.spec.uuid, uuid, length);
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    return copy_text("MIG-" + to_text(found.compute->uuid), uuid, length);
  });
}

NVML_EXPORT nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!target.is_mig()) return give(index, target.handle.gpu);
    GpuRecord record;
    target.engine.snapshot(target.handle.gpu, record);
    const int found = mig_index_of(record, target.handle);
    return found < 0 ? Return{kNotFound} : give(index, found);
  });
}

NVML_EXPORT nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) { return give(minor, target.spec.minor); });
}

NVML_EXPORT nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned length) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    return target.spec.serial.empty() ? Return{kNotSupported} : copy_text(target.spec.serial, serial, length);
  });
}

NVML_EXPORT nvmlDeviceGetBrand(nvmlDevice_t device, unsigned* brand) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) {
    return give(brand, target.spec.product.find("RTX") == std::string::npos ? kBrandNvidia : kBrandNvidiaRtx);
  });
}

NVML_EXPORT nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* found) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices,
                   [&](const Target& target) { return give(found, architecture(target.spec)); });
}

NVML_EXPORT nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (major == nullptr || minor == nullptr) return kInvalidArgument;
    *major = target.spec.compute_capability_major;
    *minor = target.spec.compute_capability_minor;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return old_pci_info(__func__, device, pci, offsetof(nvmlPciInfo_t, pciSubSystemId));
}
NVML_EXPORT nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return old_pci_info(__func__, device, pci, offsetof(nvmlPciInfo_t, busId));
}
NVML_EXPORT nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return on_device(__func__, device, Takes::gpus,
                   [&](const Target& target) { return give(pci, pci_info(target.spec)); });
}

NVML_EXPORT nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (pci == nullptr) return kInvalidArgument;
    if (pci->version != nvmlPciInfoExt_v1) return kVersionMismatch;
    const nvmlPciInfo_t info = pci_info(target.spec);
    *pci = {pci->version,        info.domain,     info.bus,   info.device, info.pciDeviceId,
            info.pciSubSystemId, 3 /* display */, 2 /* 3D */, {}};
    put_text(pci->busId, info.busId);
    return kSuccess;
  });
}
