// Accounting of the processes that hold a GPU, while its accounting mode is on. What ended is forgotten.
#include <algorithm>
#include <vector>

#include "emulator/abi/processes.h"
#include "emulator/abi/state_words.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kAccountedProcesses = 4000;  // as the driver's buffer

bool is_on(const Target& target) {
  return !target.mig_is_on() && target.engine.settings(target.handle.gpu).accounting != 0;
}

// Runs put(holder, readings) for the process; NOT_FOUND when it does not hold the GPU or is not accounted.
template <class Put>
Return of_process(const Target& target, unsigned pid, Put put) {
  if (!is_on(target)) return kNotFound;
  for (const HolderRecord& holder : live_holders(target)) {
    if (static_cast<unsigned>(holder.pid) != pid) continue;
    put(holder, target.engine.readings(target.handle.gpu));
    return kSuccess;
  }
  return kNotFound;
}

template <class Stats>
void fill(Stats& stats, const HolderRecord& holder, const GpuReadings& now) {
  stats.gpuUtilization = percent(std::min(now.sm, static_cast<double>(holder.load)));
  stats.memoryUtilization = percent(now.memory);
  stats.maxMemoryUsage = holder.memory_bytes;
  stats.time = 0;  // until it ends
  stats.startTime = static_cast<unsigned long long>(holder.since_ms) * 1000;
  stats.isRunning = 1;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned* count, unsigned* pids) {
  return on_gpu(__func__, device, [&](const Target& target) {
    std::vector<unsigned> found;
    if (is_on(target)) {
      for (const HolderRecord& holder : live_holders(target)) found.push_back(static_cast<unsigned>(holder.pid));
    }
    return give_rows(found, count, pids);
  });
}

NVML_EXPORT nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned pid, nvmlAccountingStats_t* stats) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (stats == nullptr) return kInvalidArgument;
    return of_process(target, pid, [&](const HolderRecord& holder, const GpuReadings& now) {
      *stats = {};
      fill(*stats, holder, now);
    });
  });
}

// The process asked for is in the struct.
NVML_EXPORT nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, nvmlAccountingStats_v2_t* stats) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (stats == nullptr) return kInvalidArgument;
    return of_process(target, stats->pid, [&](const HolderRecord& holder, const GpuReadings& now) {
      fill(*stats, holder, now);
      stats->sampleCount = 1;
      stats->sumGpuUtil = stats->gpuUtilization;
      stats->sumFbUtil = stats->memoryUtilization;
    });
  });
}

NVML_EXPORT nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned* size) {
  return gpu_value(__func__, device, size, [](const Target&) { return kAccountedProcesses; });
}

NVML_EXPORT nvmlDeviceClearAccountingPids(nvmlDevice_t device) {
  return on_gpu(__func__, device, [&](const Target& target) {
    return target.engine.change_settings(target.handle.gpu, [](SettingsRecord&) { return kSuccess; });
  });
}
