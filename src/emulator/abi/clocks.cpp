// Clocks. The graphics and the SM clock are one; it moves between the idle and the boost clock in steps of 15 MHz, and
// the video clock with it. The memory clock never changes. There are no offsets to set on these boards.
#include <algorithm>
#include <vector>

#include "emulator/abi/guard.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// The clock of that type while the SMs run at `sm_mhz`.
unsigned clock_at(const GpuSpec& gpu, nvmlClockType_t type, unsigned sm_mhz) {
  if (type == NVML_CLOCK_MEM) return gpu.memory_clock_mhz;
  return type == NVML_CLOCK_VIDEO ? video_clock_mhz(gpu, sm_mhz) : sm_mhz;
}

unsigned most(const GpuSpec& gpu, nvmlClockType_t type) { return clock_at(gpu, type, gpu.boost_clock_mhz); }

unsigned current(const Target& target, nvmlClockType_t type) {
  return clock_at(target.spec, type, target.engine.readings(target.handle.gpu).sm_clock_mhz);
}

// Runs read(target) for a clock that there is.
template <class Read>
Return clock(const char* function, const void* device, nvmlClockType_t type, unsigned* mhz, Read read) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    if (mhz == nullptr || type >= NVML_CLOCK_COUNT) return kInvalidArgument;
    return give(mhz, read(target));
  });
}

Return most_clock(const char* function, const void* device, nvmlClockType_t type, unsigned* mhz) noexcept {
  return clock(function, device, type, mhz, [&](const Target& target) { return most(target.spec, type); });
}

std::vector<unsigned> graphics_clocks(const GpuSpec& gpu) {
  std::vector<unsigned> clocks;
  for (unsigned mhz = gpu.boost_clock_mhz; mhz >= std::max(gpu.idle_clock_mhz, kClockStepMhz); mhz -= kClockStepMhz) {
    clocks.push_back(mhz);
  }
  return clocks;
}

Return lock_clocks(const char* function, const void* device, unsigned least, unsigned highest) noexcept {
  return on_gpu(function, device, [&](const Target& target) {
    return target.engine.change_settings(target.handle.gpu, [&](SettingsRecord& settings) {
      settings.least_clock_mhz = std::min(least, target.spec.boost_clock_mhz);
      settings.most_clock_mhz = std::min(highest, target.spec.boost_clock_mhz);
      return kSuccess;
    });
  });
}

// Drivers since R590 answer DEPRECATED. (Seen: 595 and 616; R580 still has them.)
bool no_application_clocks(const Target& target) { return target.driver_branch() >= 590; }

unsigned default_application_clock(const GpuSpec& gpu) {
  return gpu.application_clock_mhz != 0 ? std::min(gpu.application_clock_mhz, gpu.boost_clock_mhz)
                                        : gpu.boost_clock_mhz;
}

unsigned application_clock(const Target& target) {
  const unsigned set = target.engine.settings(target.handle.gpu).application_clock_mhz;
  return set != 0 ? set : default_application_clock(target.spec);
}

Return set_application_clock(const Target& target, unsigned mhz) {
  return target.engine.change_settings(target.handle.gpu, [&](SettingsRecord& settings) {
    settings.application_clock_mhz = mhz;
    return kSuccess;
  });
}

Return clock_of(const char* function, const void* device, nvmlClockType_t type, nvmlClockId_t id,
                unsigned* mhz) noexcept {
  return on_gpu(function, device, [&](const Target& target) -> Return {
    if (mhz == nullptr || type >= NVML_CLOCK_COUNT || id >= NVML_CLOCK_ID_COUNT) return kInvalidArgument;
    if (id == NVML_CLOCK_ID_CURRENT) return give(mhz, current(target, type));
    if (id == NVML_CLOCK_ID_CUSTOMER_BOOST_MAX) return give(mhz, most(target.spec, type));
    if (no_application_clocks(target)) return kDeprecated;
    const unsigned sm =
        id == NVML_CLOCK_ID_APP_CLOCK_TARGET ? application_clock(target) : default_application_clock(target.spec);
    return give(mhz, clock_at(target.spec, type, sm));
  });
}

bool is_limit_id(unsigned mhz) { return mhz == NVML_CLOCK_LIMIT_ID_TDP || mhz == NVML_CLOCK_LIMIT_ID_UNLIMITED; }

}  // namespace

NVML_EXPORT nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clock(__func__, device, type, mhz, [&](const Target& target) { return current(target, type); });
}
NVML_EXPORT nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return most_clock(__func__, device, type, mhz);
}
NVML_EXPORT nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return most_clock(__func__, device, type, mhz);
}
NVML_EXPORT nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clock_of(__func__, device, type, NVML_CLOCK_ID_APP_CLOCK_TARGET, mhz);
}
NVML_EXPORT nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return clock_of(__func__, device, type, NVML_CLOCK_ID_APP_CLOCK_DEFAULT, mhz);
}
NVML_EXPORT nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned* mhz) {
  return clock_of(__func__, device, type, id, mhz);
}

// A pair of the supported clocks. What runs does not go beyond it until it is reset; the default holds nothing back.
NVML_EXPORT nvmlDeviceSetApplicationsClocks(nvmlDevice_t device, unsigned memory_mhz, unsigned graphics_mhz) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (no_application_clocks(target)) return kDeprecated;
    const std::vector<unsigned> clocks = graphics_clocks(target.spec);
    if (memory_mhz != target.spec.memory_clock_mhz || std::ranges::find(clocks, graphics_mhz) == clocks.end()) {
      return kInvalidArgument;
    }
    return set_application_clock(target, graphics_mhz);
  });
}
NVML_EXPORT nvmlDeviceResetApplicationsClocks(nvmlDevice_t device) {
  return on_gpu(__func__, device, [](const Target& target) -> Return {
    return no_application_clocks(target) ? Return{kDeprecated} : set_application_clock(target, 0);
  });
}

NVML_EXPORT nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned* count, unsigned* mhz) {
  return on_gpu(__func__, device, [&](const Target& target) {
    return give_rows(std::vector<unsigned>{target.spec.memory_clock_mhz}, count, mhz);
  });
}
NVML_EXPORT nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned memory_mhz, unsigned* count,
                                                 unsigned* mhz) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (memory_mhz != target.spec.memory_clock_mhz) return kNotFound;
    return give_rows(graphics_clocks(target.spec), count, mhz);
  });
}

// One performance state.
NVML_EXPORT nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t device, nvmlClockType_t type, nvmlPstates_t state,
                                             unsigned* least, unsigned* highest) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (least == nullptr || highest == nullptr || type >= NVML_CLOCK_COUNT || state > NVML_PSTATE_15) {
      return kInvalidArgument;
    }
    if (state != NVML_PSTATE_0) return kNotSupported;
    *highest = most(target.spec, type);
    *least = clock_at(target.spec, type, target.spec.idle_clock_mhz);
    return kSuccess;
  });
}

// Frequencies out of range are brought into it, as the driver does.
NVML_EXPORT nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned least, unsigned highest) {
  if (least > highest && !is_limit_id(least)) {
    return on_gpu(__func__, device, [](const Target&) -> Return { return kInvalidArgument; });
  }
  return lock_clocks(__func__, device, is_limit_id(least) ? 0 : least, highest);
}
NVML_EXPORT nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device) { return lock_clocks(__func__, device, 0, 0); }
