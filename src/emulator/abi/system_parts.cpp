// What a node could have besides GPUs and does not: S-class units, HICs, excluded GPUs, confidential computing.
#include "emulator/abi/guard.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

Return no_units(const char* function, unsigned* count) noexcept {
  return guarded(function, -1, [&](Engine&) { return give(count, 0u); });
}

Return no_such_index(const char* function) noexcept {
  return guarded(function, -1, [](Engine&) -> Return { return kInvalidArgument; });
}

// "R550" of driver 550.90.07; NVIDIA's branches are called r550_00.
std::string branch_of(const std::string& driver) { return "r" + driver.substr(0, driver.find('.')) + "_00"; }

template <class Settings>
Return settings_off(const char* function, Settings* settings, unsigned version) noexcept {
  return guarded(function, -1, [&](Engine&) -> Return {
    if (settings == nullptr) return kInvalidArgument;
    if (settings->version != version) return kVersionMismatch;
    *settings = {};
    settings->version = version;
    return kSuccess;
  });
}

}  // namespace

NVML_EXPORT nvmlUnitGetCount(unsigned* count) { return no_units(__func__, count); }
NVML_EXPORT nvmlUnitGetHandleByIndex(unsigned, nvmlUnit_t*) { return no_such_index(__func__); }
NVML_EXPORT nvmlSystemGetHicVersion(unsigned* count, nvmlHwbcEntry_t*) { return no_units(__func__, count); }

NVML_EXPORT nvmlGetExcludedDeviceCount(unsigned* count) { return no_units(__func__, count); }
NVML_EXPORT nvmlGetExcludedDeviceInfoByIndex(unsigned, nvmlExcludedDeviceInfo_t*) { return no_such_index(__func__); }
NVML_EXPORT nvmlGetBlacklistDeviceCount(unsigned* count) { return no_units(__func__, count); }
NVML_EXPORT nvmlGetBlacklistDeviceInfoByIndex(unsigned, nvmlExcludedDeviceInfo_t*) { return no_such_index(__func__); }

NVML_EXPORT nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t* branch, unsigned length) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (branch == nullptr) return kInvalidArgument;
    if (branch->version != nvmlSystemDriverBranchInfo_v1) return kVersionMismatch;
    return copy_text(branch_of(engine.spec().driver_version), branch->branch,
                     std::min(length, static_cast<unsigned>(sizeof branch->branch)));
  });
}

// Confidential computing is off everywhere.
NVML_EXPORT nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t* capabilities) {
  return guarded(__func__, -1, [&](Engine&) { return give(capabilities, nvmlConfComputeSystemCaps_t{}); });
}
NVML_EXPORT nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t* state) {
  return guarded(__func__, -1, [&](Engine&) { return give(state, nvmlConfComputeSystemState_t{}); });
}
NVML_EXPORT nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_t* settings) {
  return settings_off(__func__, settings, nvmlSystemConfComputeSettings_v1);
}
NVML_EXPORT nvmlSystemGetConfComputeSettings_v2(nvmlSystemConfComputeSettings_v2_t* settings) {
  return settings_off(__func__, settings, nvmlSystemConfComputeSettings_v2);
}
NVML_EXPORT nvmlSystemGetConfComputeGpusReadyState(unsigned* accepting) {
  return guarded(__func__, -1, [&](Engine&) { return give(accepting, 1u); });
}
