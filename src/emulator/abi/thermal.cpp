// Temperatures, fans (there are none), performance state and why the clocks are where they are.
#include <cmath>

#include "emulator/abi/state_words.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

unsigned degrees(const Target& target) {
  return static_cast<unsigned>(std::floor(target.engine.readings(target.handle.gpu).degrees));
}

Return current_reasons(const char* function, const void* device, unsigned long long* reasons) noexcept {
  return gpu_value(function, device, reasons, [](const Target& target) {
    return clock_reasons(target, target.engine.readings(target.handle.gpu));
  });
}

Return supported_reasons(const char* function, const void* device, unsigned long long* reasons) noexcept {
  return gpu_value(function, device, reasons, [](const Target&) {
    return nvmlClocksEventReasonGpuIdle | nvmlClocksEventReasonApplicationsClocksSetting |
           nvmlClocksEventReasonSwPowerCap | nvmlClocksThrottleReasonHwSlowdown | nvmlClocksEventReasonSyncBoost |
           nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown |
           nvmlClocksThrottleReasonHwPowerBrakeSlowdown;
  });
}

// Data centre boards stay in the highest state.
Return performance_state(const char* function, const void* device, nvmlPstates_t* state) noexcept {
  return gpu_value(function, device, state, [](const Target&) { return NVML_PSTATE_0; });
}

}  // namespace

namespace partita::emulator::abi {

unsigned long long clock_reasons(const Target& target, const GpuReadings& now) {
  if (now.any == 0) return nvmlClocksEventReasonGpuIdle;
  unsigned long long reasons = nvmlClocksEventReasonNone;
  if (now.power_limit_mw < board_power_mw(target.spec)) reasons |= nvmlClocksEventReasonSwPowerCap;
  const SettingsRecord settings = target.engine.settings(target.handle.gpu);
  if (settings.most_clock_mhz != 0 || settings.application_clock_mhz != 0) {
    reasons |= nvmlClocksEventReasonApplicationsClocksSetting;
  }
  return reasons;
}

}  // namespace partita::emulator::abi

NVML_EXPORT nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* to) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (sensor != NVML_TEMPERATURE_GPU || to == nullptr) return kInvalidArgument;
    return give(to, degrees(target));
  });
}

NVML_EXPORT nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* to) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (to == nullptr) return kInvalidArgument;
    if (to->version != nvmlTemperature_v1) return kVersionMismatch;
    if (to->sensorType != NVML_TEMPERATURE_GPU) return kInvalidArgument;
    to->temperature = static_cast<int>(degrees(target));
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t threshold,
                                              unsigned* to) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (to == nullptr || threshold >= NVML_TEMPERATURE_THRESHOLD_COUNT) return kInvalidArgument;
    const ThermalLimits limits = thermal_limits(target.spec);
    switch (threshold) {
      case NVML_TEMPERATURE_THRESHOLD_SHUTDOWN:
        return give(to, limits.shutdown);
      case NVML_TEMPERATURE_THRESHOLD_SLOWDOWN:
        return give(to, limits.slowdown);
      case NVML_TEMPERATURE_THRESHOLD_MEM_MAX:
        return give(to, limits.most_memory);
      case NVML_TEMPERATURE_THRESHOLD_GPU_MAX:
        return give(to, limits.most);
      default:
        return kNotSupported;
    }
  });
}

// Degrees to the highest; told by Hopper and later.
NVML_EXPORT nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t* margin) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (margin == nullptr) return kInvalidArgument;
    if (margin->version != nvmlMarginTemperature_v1) return kVersionMismatch;
    if (target.spec.compute_capability_major < 9) return kNotSupported;
    margin->marginTemperature = static_cast<int>(thermal_limits(target.spec).most) - static_cast<int>(degrees(target));
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetThermalSettings(nvmlDevice_t device, unsigned sensor, nvmlGpuThermalSettings_t* settings) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    constexpr unsigned kAllSensors = 15;
    if (settings == nullptr || (sensor != 0 && sensor != kAllSensors)) return kInvalidArgument;
    *settings = {};
    settings->count = 1;
    settings->sensor[0] = {NVML_THERMAL_CONTROLLER_GPU_INTERNAL, 0,
                           static_cast<int>(thermal_limits(target.spec).slowdown), static_cast<int>(degrees(target)),
                           NVML_THERMAL_TARGET_GPU};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned* count) {
  return gpu_value(__func__, device, count, [](const Target&) { return 0u; });
}

NVML_EXPORT nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* state) {
  return performance_state(__func__, device, state);
}
NVML_EXPORT nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* state) {
  return performance_state(__func__, device, state);
}
NVML_EXPORT nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t device, nvmlPstates_t* states, unsigned size) {
  return on_gpu(__func__, device, [&](const Target&) -> Return {
    if (states == nullptr) return kInvalidArgument;
    const unsigned room = size / sizeof *states;
    if (room == 0) return kInsufficientSize;
    states[0] = NVML_PSTATE_0;
    std::fill(states + 1, states + std::min(room, unsigned{NVML_MAX_GPU_PERF_PSTATES}), NVML_PSTATE_UNKNOWN);
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return current_reasons(__func__, device, reasons);
}
NVML_EXPORT nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return current_reasons(__func__, device, reasons);
}
NVML_EXPORT nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return supported_reasons(__func__, device, reasons);
}
NVML_EXPORT nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device, unsigned long long* reasons) {
  return supported_reasons(__func__, device, reasons);
}

// Nothing here slows a GPU down for long: the time counted is zero.
NVML_EXPORT nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy, nvmlViolationTime_t* time) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (time == nullptr || policy >= NVML_PERF_POLICY_COUNT) return kInvalidArgument;
    *time = {static_cast<unsigned long long>(microseconds(target.engine.now())), 0};
    return kSuccess;
  });
}
