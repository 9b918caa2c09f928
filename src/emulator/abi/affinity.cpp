// Where GPUs sit (sockets.h): NUMA nodes, processors near them, the way from one to another.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "emulator/abi/guard.h"
#include "emulator/abi/links.h"
#include "emulator/engine/sockets.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kBits = 8 * sizeof(unsigned long);

int numa_node(const Target& target, int gpu) { return numa_node(target.engine.spec(), static_cast<std::size_t>(gpu)); }

unsigned processor_count() { return static_cast<unsigned>(std::max(1l, ::sysconf(_SC_NPROCESSORS_CONF))); }

Processors near(const Engine& engine, int gpu) {
  return near_processors(engine.spec(), static_cast<std::size_t>(gpu), processor_count());
}
Processors near(const Target& target) { return near(target.engine, target.handle.gpu); }

Return give_bits(unsigned first, unsigned end, unsigned size, unsigned long* set) {
  if (set == nullptr || size == 0) return kInvalidArgument;
  std::fill_n(set, size, 0ul);
  if ((end + kBits - 1) / kBits > size) return kInsufficientSize;
  for (unsigned bit = first; bit < end; ++bit) set[bit / kBits] |= 1ul << bit % kBits;
  return kSuccess;
}

Return cpu_affinity(const char* function, const void* device, unsigned size, unsigned long* set,
                    nvmlAffinityScope_t scope) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (scope != NVML_AFFINITY_SCOPE_NODE && scope != NVML_AFFINITY_SCOPE_SOCKET) return kInvalidArgument;
    const Processors processors = near(target);
    return give_bits(processors.first, processors.end, size, set);
  });
}

Return bind(const char* function, const void* device, bool to_gpu) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    const Processors wanted = to_gpu ? near(target) : Processors{0, processor_count()};
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned cpu = wanted.first; cpu < wanted.end && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
    return ::sched_setaffinity(0, sizeof set, &set) == 0 ? kSuccess : kUnknown;
  });
}

nvmlGpuTopologyLevel_t level_between(const Target& target, int other) {
  if (target.handle.gpu == other) return NVML_TOPOLOGY_INTERNAL;
  return numa_node(target, target.handle.gpu) == numa_node(target, other) ? NVML_TOPOLOGY_NODE : NVML_TOPOLOGY_SYSTEM;
}

// Runs body(target, other GPU) for two GPU handles.
template <class Body>
Return on_two(const char* function, const void* first, const void* second, Body body) noexcept {
  return on_gpu(function, first, [&](const Target& target) -> Return {
    const Handle other = unpack(second);
    if (other.kind != HandleKind::gpu || other.serial != kGpuSerial || !has_gpu(target.engine, other.gpu)) {
      return kInvalidArgument;
    }
    return body(target, other.gpu);
  });
}

// Asked with a count of 0 for the number, else for as many as there is room for.
Return give_some(const std::vector<nvmlDevice_t>& found, unsigned& count, nvmlDevice_t* devices) {
  const unsigned room = count;
  count = static_cast<unsigned>(found.size());
  if (room == 0) return kSuccess;
  if (devices == nullptr) return kInvalidArgument;
  std::copy_n(found.begin(), std::min<std::size_t>(room, found.size()), devices);
  return kSuccess;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned* node) {
  return gpu_value(__func__, device, node, [](const Target& target) { return numa_node(target, target.handle.gpu); });
}

NVML_EXPORT nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned size, unsigned long* set) {
  return cpu_affinity(__func__, device, size, set, NVML_AFFINITY_SCOPE_NODE);
}
NVML_EXPORT nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned size, unsigned long* set,
                                                nvmlAffinityScope_t scope) {
  return cpu_affinity(__func__, device, size, set, scope);
}
NVML_EXPORT nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned size, unsigned long* set,
                                        nvmlAffinityScope_t scope) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (scope != NVML_AFFINITY_SCOPE_NODE && scope != NVML_AFFINITY_SCOPE_SOCKET) return kInvalidArgument;
    const auto node = static_cast<unsigned>(numa_node(target, target.handle.gpu));
    return give_bits(node, node + 1, size, set);
  });
}
NVML_EXPORT nvmlDeviceSetCpuAffinity(nvmlDevice_t device) { return bind(__func__, device, true); }
NVML_EXPORT nvmlDeviceClearCpuAffinity(nvmlDevice_t device) { return bind(__func__, device, false); }

NVML_EXPORT nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                                nvmlGpuTopologyLevel_t* level) {
  return on_two(__func__, device, other,
                [&](const Target& target, int second) { return give(level, level_between(target, second)); });
}

NVML_EXPORT nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level, unsigned* count,
                                             nvmlDevice_t* devices) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (count == nullptr || level > NVML_TOPOLOGY_SYSTEM || level % 10 != 0) return kInvalidArgument;
    std::vector<nvmlDevice_t> found;
    for (int gpu = 0; has_gpu(target.engine, gpu); ++gpu) {
      if (gpu != target.handle.gpu && level_between(target, gpu) == level) found.push_back(gpu_handle(gpu));
    }
    return give_some(found, *count, devices);
  });
}

NVML_EXPORT nvmlSystemGetTopologyGpuSet(unsigned cpu, unsigned* count, nvmlDevice_t* devices) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (count == nullptr || cpu >= processor_count()) return kInvalidArgument;
    std::vector<nvmlDevice_t> found;
    for (int gpu = 0; has_gpu(engine, gpu); ++gpu) {
      const Processors processors = near(engine, gpu);
      if (cpu >= processors.first && cpu < processors.end) found.push_back(gpu_handle(gpu));
    }
    return give_some(found, *count, devices);
  });
}

// GPUs that NVLink joins reach each other; those that only PCIe joins do within a socket. None does in MIG mode.
NVML_EXPORT nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index,
                                   nvmlGpuP2PStatus_t* status) {
  return on_two(__func__, device, other, [&](const Target& target, int second) -> Return {
    if (status == nullptr || index >= NVML_P2P_CAPS_INDEX_UNKNOWN || second == target.handle.gpu)
      return kInvalidArgument;
    const bool mig = target.mig_is_on() || target.engine.summary(second).mig_current != 0;
    const bool linked = nvlink_joins(target, second);
    const bool pcie = level_between(target, second) == NVML_TOPOLOGY_NODE;
    const bool good = index == NVML_P2P_CAPS_INDEX_NVLINK || index == NVML_P2P_CAPS_INDEX_ATOMICS ? linked
                      : index == NVML_P2P_CAPS_INDEX_PROP                                         ? pcie
                                                                                                  : linked || pcie;
    return give(status, good && !mig ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED);
  });
}

NVML_EXPORT nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other, int* same) {
  return on_two(__func__, device, other,
                [&](const Target& target, int second) { return give(same, target.handle.gpu == second ? 1 : 0); });
}
