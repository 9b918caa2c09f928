#include "emulator/abi/links.h"

#include <algorithm>
#include <vector>

#include "emulator/abi/pci_info.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kSwitchDeviceId = 0x1af110de;

// GPUs at the other ends of the links: those that must be reset together with this one. Empty: a switch.
std::vector<int> peers_of(const Target& target) {
  std::vector<int> peers;
  const auto& gpus = target.engine.spec().gpus;
  for (std::size_t i = 0; target.spec.reset_group != 0 && i < gpus.size(); ++i) {
    if (gpus[i].reset_group == target.spec.reset_group && static_cast<int>(i) != target.handle.gpu) {
      peers.push_back(static_cast<int>(i));
    }
  }
  return peers;
}

// Runs body(target, peers) when the GPU has that link.
template <class Body>
Return on_link(const char* function, const void* device, unsigned link, Body body) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    if (link >= NVML_NVLINK_MAX_LINKS) return kInvalidArgument;
    return link < nvlink_count(target) ? body(target, peers_of(target)) : Return{kNotSupported};
  });
}

// Six switches, on a bus range of their own.
Return remote_pci(const char* function, const void* device, unsigned link, nvmlPciInfo_t* pci,
                  std::size_t size) noexcept {
  return on_link(function, device, link, [&](const Target& target, const std::vector<int>& peers) -> Return {
    if (pci == nullptr) return kInvalidArgument;
    nvmlPciInfo_t info = pci_info(PciAddress{0, 0xe1 + link % 6, 0, 0}, kSwitchDeviceId, 0);
    if (!peers.empty()) {
      info = pci_info(target.engine.spec().gpus[static_cast<std::size_t>(peers[link % peers.size()])]);
    }
    std::memcpy(pci, &info, size);
    return kSuccess;
  });
}

// The first version of the struct has no health mask, the second no summary.
template <class Info>
Return fabric(const Target& target, Info& info) {
  if (!has_fabric(target)) return kNotSupported;
  std::memset(info.clusterUuid, 0, sizeof info.clusterUuid);
  info.status = kSuccess;
  info.state = NVML_GPU_FABRIC_STATE_COMPLETED;
  if constexpr (requires { info.cliqueId; }) info.cliqueId = 0;
  if constexpr (requires { info.healthMask; }) {
    info.healthMask = NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE << NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW;
  }
  if constexpr (requires { info.healthSummary; }) info.healthSummary = NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY;
  return kSuccess;
}

}  // namespace

namespace partita::emulator::abi {

unsigned nvlink_count(const Target& target) {
  const unsigned links = to_unsigned(target.spec.nvlinks);
  if (target.spec.reset_group == 0) return links;
  return std::max(links, static_cast<unsigned>(peers_of(target).size()));
}

bool nvlink_joins(const Target& target, int other) {
  const GpuSpec& second = target.engine.spec().gpus[static_cast<std::size_t>(other)];
  if (target.spec.reset_group != second.reset_group || target.handle.gpu == other) return false;
  return target.spec.reset_group != 0 || (target.spec.nvlinks > 0 && second.nvlinks > 0);
}

unsigned nvlink_version(const GpuSpec& gpu) {
  return gpu.compute_capability_major >= 10  ? NVML_NVLINK_VERSION_5_0
         : gpu.compute_capability_major == 9 ? NVML_NVLINK_VERSION_4_0
                                             : NVML_NVLINK_VERSION_3_0;
}

// 50 GB/s a link and direction with the fifth generation, 25 GB/s (printed 26.562 with the fourth) before.
unsigned nvlink_mb_per_s(const GpuSpec& gpu) {
  return gpu.compute_capability_major >= 10 ? 50'000 : gpu.compute_capability_major == 9 ? 26'562 : 25'000;
}

bool has_fabric(const Target& target) {
  return target.spec.compute_capability_major >= 9 && target.spec.nvlinks > 0 && target.spec.reset_group == 0;
}

}  // namespace partita::emulator::abi

NVML_EXPORT nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t* active) {
  return on_link(__func__, device, link,
                 [&](const Target&, const std::vector<int>&) { return give(active, NVML_FEATURE_ENABLED); });
}

NVML_EXPORT nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned* version) {
  return on_link(__func__, device, link, [&](const Target& target, const std::vector<int>&) {
    return give(version, nvlink_version(target.spec));
  });
}

NVML_EXPORT nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link, nvmlNvLinkCapability_t capability,
                                          unsigned* result) {
  return on_link(__func__, device, link, [&](const Target&, const std::vector<int>&) -> Return {
    if (capability >= NVML_NVLINK_CAP_COUNT) return kInvalidArgument;
    return give(result, capability == NVML_NVLINK_CAP_SLI_BRIDGE ? 0u : 1u);
  });
}

NVML_EXPORT nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, nvmlNvLinkErrorCounter_t counter,
                                            unsigned long long* value) {
  return on_link(__func__, device, link, [&](const Target&, const std::vector<int>&) -> Return {
    if (counter >= NVML_NVLINK_ERROR_COUNT) return kInvalidArgument;
    return give(value, 0ull);
  });
}

NVML_EXPORT nvmlDeviceResetNvLinkErrorCounters(nvmlDevice_t device, unsigned link) {
  return on_link(__func__, device, link, [](const Target&, const std::vector<int>&) -> Return { return kSuccess; });
}

NVML_EXPORT nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link, nvmlIntNvLinkDeviceType_t* type) {
  return on_link(__func__, device, link, [&](const Target&, const std::vector<int>& peers) {
    return give(type, peers.empty() ? NVML_NVLINK_DEVICE_TYPE_SWITCH : NVML_NVLINK_DEVICE_TYPE_GPU);
  });
}

NVML_EXPORT nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  return remote_pci(__func__, device, link, pci, offsetof(nvmlPciInfo_t, busId));
}
NVML_EXPORT nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  return remote_pci(__func__, device, link, pci, sizeof *pci);
}

NVML_EXPORT nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t* info) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    return info == nullptr ? Return{kInvalidArgument} : fabric(target, *info);
  });
}

NVML_EXPORT nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* info) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr) return kInvalidArgument;
    if (info->version == nvmlGpuFabricInfo_v3) return fabric(target, *info);
    if (info->version != nvmlGpuFabricInfo_v2) return kVersionMismatch;
    return fabric(target, *reinterpret_cast<nvmlGpuFabricInfo_v2_t*>(info));
  });
}
