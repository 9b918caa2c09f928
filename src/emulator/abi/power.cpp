// Power and energy.
#include "emulator/abi/guard.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

Return set_limit(const Target& target, unsigned milliwatts) {
  if (milliwatts < least_power_mw(target.spec) || milliwatts > board_power_mw(target.spec)) return kInvalidArgument;
  return target.engine.change_settings(target.handle.gpu, [&](SettingsRecord& settings) {
    settings.power_limit_mw = milliwatts;
    return kSuccess;
  });
}

template <class Read>
Return reading(const char* function, const void* device, unsigned* to, Read read) noexcept {
  return gpu_value(function, device, to,
                   [&](const Target& target) { return read(target.engine.readings(target.handle.gpu)); });
}

unsigned limit(const GpuReadings& now) { return now.power_limit_mw; }

}  // namespace

NVML_EXPORT nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return reading(__func__, device, milliwatts, [](const GpuReadings& now) { return now.power_mw; });
}

NVML_EXPORT nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* millijoules) {
  return gpu_value(__func__, device, millijoules,
                   [](const Target& target) { return target.engine.readings(target.handle.gpu).energy_mj; });
}

NVML_EXPORT nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return gpu_value(__func__, device, mode, [](const Target&) { return NVML_FEATURE_ENABLED; });
}
NVML_EXPORT nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return reading(__func__, device, milliwatts, limit);
}
NVML_EXPORT nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return reading(__func__, device, milliwatts, limit);
}
NVML_EXPORT nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return gpu_value(__func__, device, milliwatts, [](const Target& target) { return board_power_mw(target.spec); });
}
NVML_EXPORT nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned* least, unsigned* most) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (least == nullptr || most == nullptr) return kInvalidArgument;
    *most = board_power_mw(target.spec);
    *least = least_power_mw(target.spec);
    return kSuccess;
  });
}
NVML_EXPORT nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned milliwatts) {
  return on_gpu(__func__, device, [&](const Target& target) { return set_limit(target, milliwatts); });
}
NVML_EXPORT nvmlDeviceSetPowerManagementLimit_v2(nvmlDevice_t device, nvmlPowerValue_v2_t* value) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (value == nullptr) return kInvalidArgument;
    if (value->version != nvmlPowerValue_v2) return kVersionMismatch;
    if (value->powerScope != NVML_POWER_SCOPE_GPU) return kNotSupported;
    return set_limit(target, value->powerValueMw);
  });
}

NVML_EXPORT nvmlDeviceGetPowerSource(nvmlDevice_t device, nvmlPowerSource_t* source) {
  return gpu_value(__func__, device, source, [](const Target&) { return NVML_POWER_SOURCE_AC; });
}
