// Error correction: on, and it never finds anything. The pending mode becomes the current one with the next reset.
#include "emulator/abi/state_words.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// Runs body(target) for a GPU whose memory has ECC.
template <class Body>
Return on_ecc(const char* function, const void* device, Body body) noexcept {
  return on_gpu(function, device,
                [&](const Target& target) -> Return { return has_ecc(target.spec) ? body(target) : kNotSupported; });
}

bool counter_is_known(nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter) {
  return error < NVML_MEMORY_ERROR_TYPE_COUNT && counter < NVML_ECC_COUNTER_TYPE_COUNT;
}

// No page of HBM is ever retired: rows are remapped instead.
Return pages(const char* function, const void* device, nvmlPageRetirementCause_t cause, unsigned* count) noexcept {
  return on_ecc(function, device, [&](const Target&) -> Return {
    if (count == nullptr || cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT) return kInvalidArgument;
    return kNotSupported;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (current == nullptr || pending == nullptr) return kInvalidArgument;
    const SettingsRecord settings = target.engine.settings(target.handle.gpu);
    *current = settings.ecc_current;
    *pending = settings.ecc_pending;
    return kSuccess;
  });
}
NVML_EXPORT nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return on_ecc(__func__, device, [&](const Target&) { return give(mode, NVML_FEATURE_ENABLED); });
}
NVML_EXPORT nvmlDeviceSetEccMode(nvmlDevice_t device, nvmlEnableState_t mode) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (mode > NVML_FEATURE_ENABLED) return kInvalidArgument;
    return target.engine.change_settings(target.handle.gpu, [&](SettingsRecord& settings) {
      settings.ecc_pending = static_cast<std::uint8_t>(mode);
      return kSuccess;
    });
  });
}

NVML_EXPORT nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter,
                                        unsigned long long* count) {
  return on_ecc(__func__, device, [&](const Target&) -> Return {
    return counter_is_known(error, counter) ? give(count, 0ull) : kInvalidArgument;
  });
}
NVML_EXPORT nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error,
                                           nvmlEccCounterType_t counter, nvmlEccErrorCounts_t* counts) {
  return on_ecc(__func__, device, [&](const Target&) -> Return {
    return counter_is_known(error, counter) ? give(counts, nvmlEccErrorCounts_t{}) : kInvalidArgument;
  });
}

// Of a MIG device only uncorrected volatile errors outside of the memory are counted.
NVML_EXPORT nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t error,
                                            nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                            unsigned long long* count) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!has_ecc(target.spec)) return kNotSupported;
    if (!counter_is_known(error, counter) || location >= NVML_MEMORY_LOCATION_COUNT) return kInvalidArgument;
    if (target.is_mig() && (error != NVML_MEMORY_ERROR_TYPE_UNCORRECTED || counter != NVML_VOLATILE_ECC ||
                            location == NVML_MEMORY_LOCATION_DEVICE_MEMORY)) {
      return kNotSupported;
    }
    return give(count, 0ull);
  });
}

NVML_EXPORT nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t* status) {
  return on_ecc(__func__, device, [&](const Target&) -> Return {
    if (status == nullptr) return kInvalidArgument;
    if (status->version != nvmlEccSramErrorStatus_v1) return kVersionMismatch;
    *status = {};
    status->version = nvmlEccSramErrorStatus_v1;
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, nvmlEccCounterType_t counter) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (counter >= NVML_ECC_COUNTER_TYPE_COUNT) return kInvalidArgument;
    return target.engine.change_settings(target.handle.gpu, [](SettingsRecord&) { return kSuccess; });
  });
}

NVML_EXPORT nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned* count,
                                      unsigned long long*) {
  return pages(__func__, device, cause, count);
}
NVML_EXPORT nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned* count,
                                         unsigned long long*, unsigned long long*) {
  return pages(__func__, device, cause, count);
}

NVML_EXPORT nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                                      unsigned* pending, unsigned* failed) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (corrected == nullptr || uncorrected == nullptr || pending == nullptr || failed == nullptr) {
      return kInvalidArgument;
    }
    if (rows_are_hidden(target)) return kNotSupported;
    *corrected = *uncorrected = *pending = *failed = 0;
    return kSuccess;
  });
}
NVML_EXPORT nvmlDeviceGetRemappedRows_v2(nvmlDevice_t device, nvmlRemappedRowsInfo_v2_t* info) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr) return kInvalidArgument;
    if (rows_are_hidden(target)) return kNotSupported;
    *info = {};
    return kSuccess;
  });
}
NVML_EXPORT nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t* values) {
  return on_ecc(__func__, device, [&](const Target& target) -> Return {
    if (values == nullptr) return kInvalidArgument;
    const unsigned banks = remappable_banks(target.spec);
    if (banks == 0) return kNotSupported;
    *values = {banks, 0, 0, 0, 0};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t* status) {
  return on_ecc(__func__, device, [&](const Target&) -> Return {
    if (status == nullptr) return kInvalidArgument;
    if (status->version != nvmlRepairStatus_v1) return kVersionMismatch;
    *status = {nvmlRepairStatus_v1, 0, 0};
    return kSuccess;
  });
}
