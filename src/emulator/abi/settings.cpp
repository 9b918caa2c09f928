// What clients switch: persistence, compute mode, accounting mode, who may call what.
#include "emulator/abi/state_words.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

template <class Read>
Return setting(const char* function, const void* device, nvmlEnableState_t* to, Read read) noexcept {
  return gpu_value(function, device, to,
                   [&](const Target& target) { return read(target.engine.settings(target.handle.gpu)); });
}

Return set(const Target& target, std::uint8_t SettingsRecord::* which, unsigned value) {
  return target.engine.change_settings(target.handle.gpu, [&](SettingsRecord& settings) {
    settings.*which = static_cast<std::uint8_t>(value);
    return kSuccess;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return setting(__func__, device, mode, [](const SettingsRecord& settings) { return settings.persistence; });
}
NVML_EXPORT nvmlDeviceSetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t mode) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    return mode > NVML_FEATURE_ENABLED ? kInvalidArgument : set(target, &SettingsRecord::persistence, mode);
  });
}

// A MIG device keeps the default mode: exclusive processes are not for it.
NVML_EXPORT nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) {
    const bool of_gpu = !target.is_mig() && !target.mig_is_on();
    return give(mode, of_gpu ? target.engine.settings(target.handle.gpu).compute_mode : NVML_COMPUTEMODE_DEFAULT);
  });
}
NVML_EXPORT nvmlDeviceSetComputeMode(nvmlDevice_t device, nvmlComputeMode_t mode) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (mode >= NVML_COMPUTEMODE_COUNT) return kInvalidArgument;
    if (mode == NVML_COMPUTEMODE_EXCLUSIVE_THREAD) return kNotSupported;
    if (target.is_mig()) return mode == NVML_COMPUTEMODE_DEFAULT ? kSuccess : kNotSupported;
    return target.mig_is_on() ? Return{kNotSupported} : set(target, &SettingsRecord::compute_mode, mode);
  });
}

NVML_EXPORT nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return gpu_value(__func__, device, mode, [](const Target& target) {
    return target.mig_is_on() ? 0 : target.engine.settings(target.handle.gpu).accounting;
  });
}
NVML_EXPORT nvmlDeviceSetAccountingMode(nvmlDevice_t device, nvmlEnableState_t mode) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (mode > NVML_FEATURE_ENABLED) return kInvalidArgument;
    return target.mig_is_on() ? Return{kNotSupported} : set(target, &SettingsRecord::accounting, mode);
  });
}

// Who may set application clocks: root. There are no boosted clocks to switch.
NVML_EXPORT nvmlDeviceGetAPIRestriction(nvmlDevice_t device, nvmlRestrictedAPI_t api, nvmlEnableState_t* restricted) {
  return on_gpu(__func__, device, [&](const Target&) -> Return {
    if (api >= NVML_RESTRICTED_API_COUNT || restricted == nullptr) return kInvalidArgument;
    if (api == NVML_RESTRICTED_API_SET_AUTO_BOOSTED_CLOCKS) return kNotSupported;
    return give(restricted, NVML_FEATURE_ENABLED);
  });
}
