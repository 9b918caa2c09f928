// Accounting of the processes that hold a GPU, or have held it, while its accounting mode is on.
#include <algorithm>
#include <vector>

#include "emulator/abi/processes.h"
#include "emulator/abi/state_words.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

constexpr unsigned kAccountedProcesses = kAccountRing - 1;

bool is_on(const Target& target) {
  return !target.mig_is_on() && target.engine.settings(target.handle.gpu).accounting != 0;
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

template <class Stats>
void fill(Stats& stats, const EndedProcess& process) {
  stats.gpuUtilization = percent(process.load);
  stats.memoryUtilization = percent(kMemoryPerSm * process.load);
  stats.maxMemoryUsage = process.memory_bytes;
  stats.time = static_cast<unsigned long long>((process.until - process.since).count());
  stats.startTime = static_cast<unsigned long long>(microseconds(process.since));
  stats.isRunning = 0;
}

// Fills `stats` for the process, a running one before one that has ended, the last of its number; NOT_FOUND when there
// is none or accounting is off.
template <class Stats>
Return fill_for(const Target& target, unsigned pid, Stats& stats) {
  if (!is_on(target)) return kNotFound;
  for (const HolderRecord& holder : live_holders(target)) {
    if (static_cast<unsigned>(holder.pid) != pid) continue;
    fill(stats, holder, target.engine.readings(target.handle.gpu));
    return kSuccess;
  }
  bool found = false;
  for (const EndedProcess& process : target.engine.ended_processes(target.handle.gpu)) {
    if (static_cast<unsigned>(process.pid) != pid) continue;
    fill(stats, process);
    found = true;
  }
  return found ? kSuccess : kNotFound;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned* count, unsigned* pids) {
  return on_gpu(__func__, device, [&](const Target& target) {
    std::vector<unsigned> found;
    const auto add = [&](pid_t pid) {
      if (std::ranges::find(found, static_cast<unsigned>(pid)) == found.end()) {
        found.push_back(static_cast<unsigned>(pid));
      }
    };
    if (is_on(target)) {
      for (const EndedProcess& process : target.engine.ended_processes(target.handle.gpu)) add(process.pid);
      for (const HolderRecord& holder : live_holders(target)) add(holder.pid);
    }
    return give_rows(found, count, pids);
  });
}

NVML_EXPORT nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned pid, nvmlAccountingStats_t* stats) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (stats == nullptr) return kInvalidArgument;
    nvmlAccountingStats_t found{};
    const Return answer = fill_for(target, pid, found);
    if (answer == kSuccess) *stats = found;
    return answer;
  });
}

// The process asked for is in the struct.
NVML_EXPORT nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, nvmlAccountingStats_v2_t* stats) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (stats == nullptr) return kInvalidArgument;
    const Return answer = fill_for(target, stats->pid, *stats);
    if (answer != kSuccess) return answer;
    stats->sampleCount = 1;
    stats->sumGpuUtil = stats->gpuUtilization;
    stats->sumFbUtil = stats->memoryUtilization;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned* size) {
  return gpu_value(__func__, device, size, [](const Target&) { return kAccountedProcesses; });
}

NVML_EXPORT nvmlDeviceClearAccountingPids(nvmlDevice_t device) {
  return on_gpu(__func__, device,
                [&](const Target& target) { return target.engine.clear_ended_processes(target.handle.gpu); });
}
