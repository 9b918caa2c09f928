// NVLink, topology and field values.
#include <ctime>

#include <algorithm>
#include <vector>

#include "emulator/abi/guard.h"
#include "emulator/abi/pci_info.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kRemoteGpu = 0, kRemoteSwitch = 2;
constexpr unsigned kSwitchDeviceId = 0x1af110de;
constexpr unsigned kTopologyInternal = 0, kTopologyNode = 40, kTopologySystem = 50;
constexpr unsigned kFieldResetlessMig = 184, kFieldIndependentMigQuery = 199;

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

// Runs body(peers) when the GPU has that link.
template <class Body>
Return on_link(const char* function, const void* device, unsigned link, Body body) noexcept {
  return on_device(function, device, Takes::gpus, [&](const Target& target) -> Return {
    if (link >= NVML_NVLINK_MAX_LINKS) return kInvalidArgument;
    const std::vector<int> peers = peers_of(target);
    const std::size_t links = std::max<std::size_t>(to_unsigned(target.spec.nvlinks), peers.size());
    return link < links ? body(target, peers) : Return{kNotSupported};
  });
}

// Six switches, on a bus range of their own.
Return remote_pci(const char* function, const void* device, unsigned link, void* pci, std::size_t size) noexcept {
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

long long now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

Return field_value(const GpuSpec& gpu, unsigned field, unsigned& value) {
  if (field == kFieldResetlessMig) {
    value = gpu.units > 0 && !gpu.mode_change_needs_reset ? 1 : 0;
    return kSuccess;
  }
  if (field == kFieldIndependentMigQuery) {
    value = 0;  // profile queries are refused while MIG mode is off
    return kSuccess;
  }
  return kNotSupported;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned* active) {
  return on_link(__func__, device, link, [&](const Target&, const std::vector<int>&) -> Return {
    if (active == nullptr) return kInvalidArgument;
    *active = 1;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link, nvmlIntNvLinkDeviceType_t* type) {
  return on_link(__func__, device, link, [&](const Target&, const std::vector<int>& peers) -> Return {
    if (type == nullptr) return kInvalidArgument;
    *type = peers.empty() ? kRemoteSwitch : kRemoteGpu;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  return remote_pci(__func__, device, link, pci, offsetof(nvmlPciInfo_t, busId));
}
NVML_EXPORT nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  return remote_pci(__func__, device, link, pci, sizeof *pci);
}

// GPUs of the same half of the node share a NUMA node; the others meet between the sockets.
NVML_EXPORT nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                nvmlGpuTopologyLevel_t* level) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    const Handle second = unpack(other);
    if (level == nullptr || second.kind != HandleKind::gpu || !has_gpu(target.engine, second.gpu))
      return kInvalidArgument;
    const int half = static_cast<int>(target.engine.spec().gpus.size() + 1) / 2;
    *level = target.handle.gpu == second.gpu                     ? kTopologyInternal
             : (target.handle.gpu < half) == (second.gpu < half) ? kTopologyNode
                                                                 : kTopologySystem;
    return kSuccess;
  });
}

// Each value carries its own return; the call itself fails only for wrong arguments.
NVML_EXPORT nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  return on_device(__func__, device, Takes::gpus, [&](const Target& target) -> Return {
    if (values == nullptr || count < 1) return kInvalidArgument;
    for (int i = 0; i < count; ++i) {
      nvmlFieldValue_t& value = values[i];
      value.timestamp = now_us();
      value.latencyUsec = 0;
      value.valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
      value.value.ullVal = 0;
      value.nvmlReturn = field_value(target.spec, value.fieldId, value.value.uiVal);
    }
    return kSuccess;
  });
}
