// What a device is: names, numbers, architecture, firmware.
#include <algorithm>
#include <string>

#include "emulator/abi/guard.h"
#include "emulator/abi/mig_index.h"
#include "emulator/abi/pci_info.h"
#include "emulator/engine/rules.h"
#include "emulator/engine/uuid.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

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
  const ComputeProfileSpec* compute = find_compute_profile(profile, found.compute->profile);
  return gpu.product + " MIG " + (compute != nullptr ? compute->name : profile.name);
}

// Superchips join the GPU to their own processor: they have an NVLink-C2C, and address its memory.
bool is_superchip(const GpuSpec& gpu) {
  constexpr const char* kNames[] = {"GH200", "GB200", "GB300", "GB10"};
  return std::ranges::any_of(kNames, [&](const char* name) { return gpu.product.find(name) != std::string::npos; });
}

// What a board carries; NOT_SUPPORTED where it is not known.
Return firmware_text(const char* function, const void* device, char* to, unsigned length,
                     std::string FirmwareSpec::* which) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    const std::string& text = target.spec.firmware.*which;
    if (to == nullptr) return kInvalidArgument;
    return text.empty() ? Return{kNotSupported} : copy_text(text, to, length);
  });
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

// Drivers before R470 name a MIG device by its GPU and its ids.
constexpr int kNewMigNames = 470;

NVML_EXPORT nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!target.is_mig()) return copy_text(target.spec.uuid, uuid, length);
    Instances found;
    if (!find_instances(target.engine, target.handle, found)) return kNotFound;
    if (target.driver_branch() < kNewMigNames) {
      return copy_text("MIG-" + target.spec.uuid + '/' + std::to_string(found.gpu_instance->id) + '/' +
                           std::to_string(found.compute->id),
                       uuid, length);
    }
    return copy_text("MIG-" + to_text(found.compute->uuid), uuid, length);
  });
}

NVML_EXPORT nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!target.is_mig()) return give(index, target.handle.gpu);
    GpuSnapshot room;
    GpuRecord& record = room.record;
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
    return give(brand,
                target.spec.product.find("RTX") == std::string::npos ? NVML_BRAND_NVIDIA : NVML_BRAND_NVIDIA_RTX);
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

// GPUs on baseboards are numbered from 1 by their place; cards have no module.
NVML_EXPORT nvmlDeviceGetModuleId(nvmlDevice_t device, unsigned* id) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    return target.spec.nvlinks == 0 ? Return{kNotSupported} : give(id, target.handle.gpu + 1);
  });
}

NVML_EXPORT nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned* id) {
  return gpu_value(__func__, device, id, [](const Target& target) {
    const nvmlPciInfo_t pci = pci_info(target.spec);
    return pci.domain << 16 | pci.bus << 8 | pci.device;
  });
}
NVML_EXPORT nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned* several) {
  return gpu_value(__func__, device, several, [](const Target&) { return 0u; });
}

// Where no card was seen: the chip's family as its VBIOS numbers begin with, then zeros.
NVML_EXPORT nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned length) {
  return on_gpu(__func__, device, [&](const Target& target) {
    if (!target.spec.firmware.vbios.empty()) return copy_text(target.spec.firmware.vbios, version, length);
    const int major = target.spec.compute_capability_major;
    const char* family = major == 8 ? "92.00" : major == 9 ? "96.00" : major == 10 ? "97.00" : "98.02";
    return copy_text(std::string(family) + ".00.00.00", version, length);
  });
}

NVML_EXPORT nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* number, unsigned length) {
  return firmware_text(__func__, device, number, length, &FirmwareSpec::part_number);
}
NVML_EXPORT nvmlDeviceGetInforomImageVersion(nvmlDevice_t device, char* version, unsigned length) {
  return firmware_text(__func__, device, version, length, &FirmwareSpec::inforom_image);
}
// The objects for power and for encryption are empty on all boards here.
NVML_EXPORT nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object, char* version,
                                        unsigned length) {
  switch (object) {
    case NVML_INFOROM_OEM:
      return firmware_text(__func__, device, version, length, &FirmwareSpec::inforom_oem);
    case NVML_INFOROM_ECC:
      return firmware_text(__func__, device, version, length, &FirmwareSpec::inforom_ecc);
    default:
      return on_gpu(__func__, device, [&](const Target&) -> Return {
        return object >= NVML_INFOROM_COUNT || version == nullptr ? kInvalidArgument : kNotSupported;
      });
  }
}
NVML_EXPORT nvmlDeviceValidateInforom(nvmlDevice_t device) {
  return on_gpu(__func__, device, [](const Target& target) -> Return {
    return target.spec.firmware.inforom_image.empty() ? kNotSupported : kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetPdi(nvmlDevice_t device, nvmlPdi_t* pdi) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (pdi == nullptr) return kInvalidArgument;
    if (pdi->version != nvmlPdi_v1) return kVersionMismatch;
    pdi->value = target.spec.pdi;
    return kSuccess;
  });
}

// The firmware is the driver's, and runs wherever it can.
NVML_EXPORT nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* version) {
  return on_gpu(__func__, device, [&](const Target& target) {
    return copy_text(target.engine.spec().driver_version, version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
  });
}
NVML_EXPORT nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned* enabled, unsigned* by_default) {
  return on_gpu(__func__, device, [&](const Target&) -> Return {
    if (enabled == nullptr || by_default == nullptr) return kInvalidArgument;
    *enabled = *by_default = 1;
    return kSuccess;
  });
}

// CUDA cores: 64 per SM of GA100, 128 of the later chips.
NVML_EXPORT nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* cores) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (target.mig_is_on() || target.spec.sm == 0) return kNotSupported;
    return give(cores, to_unsigned(target.spec.sm) * (target.spec.compute_capability_major == 8 ? 64 : 128));
  });
}

NVML_EXPORT nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, nvmlC2cModeInfo_v1_t* info) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr) return kInvalidArgument;
    if (!is_superchip(target.spec)) return kNotSupported;
    info->isC2cEnabled = 1;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t* mode) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (mode == nullptr) return kInvalidArgument;
    if (mode->version != nvmlDeviceAddressingMode_v1) return kVersionMismatch;
    mode->value = is_superchip(target.spec) ? NVML_DEVICE_ADDRESSING_MODE_ATS : NVML_DEVICE_ADDRESSING_MODE_HMM;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetCapabilities(nvmlDevice_t device, nvmlDeviceCapabilities_t* capabilities) {
  return on_gpu(__func__, device, [&](const Target&) -> Return {
    if (capabilities == nullptr) return kInvalidArgument;
    if (capabilities->version != nvmlDeviceCapabilities_v1) return kVersionMismatch;
    capabilities->capMask = 0;
    return kSuccess;
  });
}

// No display anywhere.
NVML_EXPORT nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return gpu_value(__func__, device, mode, [](const Target&) { return NVML_FEATURE_DISABLED; });
}
NVML_EXPORT nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* active) {
  return gpu_value(__func__, device, active, [](const Target&) { return NVML_FEATURE_DISABLED; });
}
