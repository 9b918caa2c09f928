// The PCI function and its link. Every board here has sixteen lanes; the generation follows the architecture (4 for
// Ampere, 5 later), and the link always runs at it.
#include "emulator/abi/pcie.h"
#include "emulator/abi/guard.h"
#include "emulator/abi/pci_info.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// The first two versions of the struct end earlier: with the device id, and with the subsystem id.
Return old_pci_info(const char* function, const void* device, nvmlPciInfo_t* pci, std::size_t size) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    if (pci == nullptr) return kInvalidArgument;
    const nvmlPciInfo_t info = pci_info(target.spec);
    std::memcpy(pci, &info, size);
    return kSuccess;
  });
}

Return generation(const char* function, const void* device, unsigned* to) noexcept {
  return gpu_value(function, device, to, [](const Target& target) { return pcie_generation(target.spec); });
}

Return width(const char* function, const void* device, unsigned* to) noexcept {
  return gpu_value(function, device, to, [](const Target&) { return kPcieLanes; });
}

}  // namespace

namespace partita::emulator::abi {

unsigned pcie_generation(const GpuSpec& gpu) { return gpu.compute_capability_major >= 9 ? 5 : 4; }

unsigned pcie_mb_per_s(const GpuSpec& gpu) {
  return kPcieLanes * (pcie_generation(gpu) == 5 ? 3938u : 1969u);  // 32 and 16 GT/s with 128b/130b
}

}  // namespace partita::emulator::abi

NVML_EXPORT nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return old_pci_info(__func__, device, pci, offsetof(nvmlPciInfo_t, pciSubSystemId));
}
NVML_EXPORT nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return old_pci_info(__func__, device, pci, offsetof(nvmlPciInfo_t, busId));
}
NVML_EXPORT nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return gpu_value(__func__, device, pci, [](const Target& target) { return pci_info(target.spec); });
}

NVML_EXPORT nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (pci == nullptr) return kInvalidArgument;
    if (pci->version != nvmlPciInfoExt_v1) return kVersionMismatch;
    const nvmlPciInfo_t info = pci_info(target.spec);
    *pci = {pci->version,        info.domain,     info.bus,   info.device, info.pciDeviceId,
            info.pciSubSystemId, 3 /* display */, 2 /* 3D */, {}};
    put_text(pci->busId, info.busId);
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  return generation(__func__, device, to);
}
NVML_EXPORT nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  return generation(__func__, device, to);
}
NVML_EXPORT nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* to) {
  return generation(__func__, device, to);
}
NVML_EXPORT nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* to) { return width(__func__, device, to); }
NVML_EXPORT nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* to) { return width(__func__, device, to); }

// NVML_PCIE_LINK_MAX_SPEED_*: 4 is 16 GT/s, 5 is 32 GT/s.
NVML_EXPORT nvmlDeviceGetPcieLinkMaxSpeed(nvmlDevice_t device, unsigned* to) {
  return generation(__func__, device, to);
}
NVML_EXPORT nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned* mbps) {
  return gpu_value(__func__, device, mbps,
                   [](const Target& target) { return pcie_generation(target.spec) == 5 ? 32'000u : 16'000u; });
}

// In kB/s. Sent (TX) is what goes to the host.
NVML_EXPORT nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned* value) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (value == nullptr || counter >= NVML_PCIE_UTIL_COUNT) return kInvalidArgument;
    const GpuReadings now = target.engine.readings(target.handle.gpu);
    const double share = counter == NVML_PCIE_UTIL_TX_BYTES ? now.pcie_to_host : now.pcie_from_host;
    return give(value, share * 1000 * pcie_mb_per_s(target.spec));
  });
}

NVML_EXPORT nvmlDeviceGetPcieReplayCounter(nvmlDevice_t device, unsigned* value) {
  return gpu_value(__func__, device, value, [](const Target&) { return 0u; });
}

NVML_EXPORT nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t* type) {
  return gpu_value(__func__, device, type, [](const Target&) { return NVML_BUS_TYPE_PCIE; });
}
