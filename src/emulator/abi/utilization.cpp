// How busy a GPU is: rates, samples, each process's share. Nothing of this is told in MIG mode, neither for the GPU nor
// for its MIG devices. Media engines never have anything to do.
#include <algorithm>
#include <vector>

#include "emulator/abi/processes.h"
#include "emulator/abi/state_words.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// Runs body(target) for a GPU that is not in MIG mode.
template <class Body>
Return on_undivided(const char* function, const void* device, Body body) noexcept {
  return on_gpu(function, device,
                [&](const Target& target) -> Return { return target.mig_is_on() ? kNotSupported : body(target); });
}

constexpr unsigned kSamplingPeriodUs = 167'000, kSamplesKept = 100;

Return idle_engine(const char* function, const void* device, unsigned* utilization, unsigned* period_us) noexcept {
  return on_undivided(function, device, [&](const Target&) -> Return {
    if (utilization == nullptr || period_us == nullptr) return kInvalidArgument;
    *utilization = 0;
    *period_us = kSamplingPeriodUs;
    return kSuccess;
  });
}

bool has_encoder(const GpuSpec& gpu) {
  return std::ranges::any_of(gpu.profiles, [](const ProfileSpec& profile) { return profile.encoder > 0; });
}

Return no_sessions(const char* function, const void* device, unsigned* count) noexcept {
  return on_device(function, device, Takes::gpus_and_mig_devices, [&](const Target&) { return give(count, 0u); });
}

bool sample_is_rate(nvmlSamplingType_t type) {
  return type != NVML_TOTAL_POWER_SAMPLES && type != NVML_PROCESSOR_CLK_SAMPLES && type != NVML_MEMORY_CLK_SAMPLES &&
         type != NVML_MODULE_POWER_SAMPLES;
}

unsigned sample_of(nvmlSamplingType_t type, const GpuReadings& now) {
  switch (type) {
    case NVML_TOTAL_POWER_SAMPLES:
    case NVML_MODULE_POWER_SAMPLES:
      return now.power_mw;
    case NVML_GPU_UTILIZATION_SAMPLES:
      return percent(now.any);
    case NVML_MEMORY_UTILIZATION_SAMPLES:
      return percent(now.memory);
    case NVML_PROCESSOR_CLK_SAMPLES:
      return now.sm_clock_mhz;
    case NVML_MEMORY_CLK_SAMPLES:
      return now.memory_clock_mhz;
    default:
      return 0;
  }
}

template <class Sample>
std::vector<Sample> process_samples(const Target& target, unsigned long long since_us) {
  std::vector<Sample> rows;
  const GpuReadings now = target.engine.readings(target.handle.gpu);
  const auto time = static_cast<unsigned long long>(microseconds(now.time));
  if (time <= since_us) return rows;
  for (const HolderRecord& holder : live_holders(target)) {
    Sample row{};
    row.pid = static_cast<unsigned>(holder.pid);
    row.timeStamp = time;
    row.smUtil = percent(std::min(now.sm, static_cast<double>(holder.load)));
    row.memUtil = row.smUtil == 0 ? 0 : percent(now.memory * row.smUtil / std::max(1u, percent(now.sm)));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

NVML_EXPORT nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return on_undivided(__func__, device, [&](const Target& target) -> Return {
    if (utilization == nullptr) return kInvalidArgument;
    const GpuReadings now = target.engine.readings(target.handle.gpu);
    *utilization = {percent(now.any), percent(now.memory)};
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned* utilization, unsigned* period_us) {
  return idle_engine(__func__, device, utilization, period_us);
}
NVML_EXPORT nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned* utilization, unsigned* period_us) {
  return idle_engine(__func__, device, utilization, period_us);
}
NVML_EXPORT nvmlDeviceGetJpgUtilization(nvmlDevice_t device, unsigned* utilization, unsigned* period_us) {
  return idle_engine(__func__, device, utilization, period_us);
}
NVML_EXPORT nvmlDeviceGetOfaUtilization(nvmlDevice_t device, unsigned* utilization, unsigned* period_us) {
  return idle_engine(__func__, device, utilization, period_us);
}

NVML_EXPORT nvmlDeviceGetEncoderCapacity(nvmlDevice_t device, nvmlEncoderType_t codec, unsigned* capacity) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (codec > NVML_ENCODER_QUERY_AV1) return kInvalidArgument;
    return has_encoder(target.spec) ? give(capacity, 100u) : kNotSupported;
  });
}
NVML_EXPORT nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned* sessions, unsigned* rate, unsigned* latency) {
  return on_gpu(__func__, device, [&](const Target&) -> Return {
    if (sessions == nullptr || rate == nullptr || latency == nullptr) return kInvalidArgument;
    *sessions = *rate = *latency = 0;
    return kSuccess;
  });
}
NVML_EXPORT nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned* count, nvmlEncoderSessionInfo_t*) {
  return no_sessions(__func__, device, count);
}
NVML_EXPORT nvmlDeviceGetFBCStats(nvmlDevice_t device, nvmlFBCStats_t* stats) {
  return gpu_value(__func__, device, stats, [](const Target&) { return nvmlFBCStats_t{}; });
}
NVML_EXPORT nvmlDeviceGetFBCSessions(nvmlDevice_t device, unsigned* count, nvmlFBCSessionInfo_t*) {
  return no_sessions(__func__, device, count);
}

NVML_EXPORT nvmlDeviceGetDynamicPstatesInfo(nvmlDevice_t device, nvmlGpuDynamicPstatesInfo_t* info) {
  return on_undivided(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr) return kInvalidArgument;
    const GpuReadings now = target.engine.readings(target.handle.gpu);
    *info = {};
    info->flags = 1;
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_GPU] = {1, percent(now.any), 0, 0};
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_FB] = {1, percent(now.memory), 0, 0};
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_VID] = {1, 0, 0, 0};
    info->utilization[NVML_GPU_UTILIZATION_DOMAIN_BUS] = {1, percent(now.pcie_from_host), 0, 0};
    return kSuccess;
  });
}

// What the instruments showed every sixth of a second, as far back as the law can be followed (Engine::history()).
NVML_EXPORT nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long since_us,
                                 nvmlValueType_t* value_type, unsigned* count, nvmlSample_t* samples) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (value_type == nullptr || count == nullptr || type >= NVML_SAMPLINGTYPE_COUNT) return kInvalidArgument;
    if (samples != nullptr && *count == 0) return kInvalidArgument;
    if (target.mig_is_on() && sample_is_rate(type)) return kNotSupported;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (samples == nullptr) return give(count, kSamplesKept);
    const partita::Time since(std::chrono::milliseconds(since_us / 1000));
    const auto history = target.engine.history(
        target.handle.gpu, since, std::chrono::milliseconds(kSamplingPeriodUs / 1000), std::min(*count, kSamplesKept));
    if (history.empty()) return kNotFound;
    *count = static_cast<unsigned>(history.size());
    for (const GpuReadings& shown : history) {
      *samples = {};
      samples->timeStamp = static_cast<unsigned long long>(microseconds(shown.time));
      samples->sampleValue.uiVal = sample_of(type, shown);
      ++samples;
    }
    return kSuccess;
  });
}

NVML_EXPORT nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t* samples,
                                            unsigned* count, unsigned long long since_us) {
  return on_undivided(__func__, device, [&](const Target& target) -> Return {
    if (count == nullptr) return kInvalidArgument;
    const auto rows = process_samples<nvmlProcessUtilizationSample_t>(target, since_us);
    if (rows.empty()) return kNotFound;
    return give_rows(rows, count, samples);
  });
}
NVML_EXPORT nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, nvmlProcessesUtilizationInfo_t* info) {
  return on_undivided(__func__, device, [&](const Target& target) -> Return {
    if (info == nullptr) return kInvalidArgument;
    if (info->version != nvmlProcessesUtilizationInfo_v1) return kVersionMismatch;
    const auto rows = process_samples<nvmlProcessUtilizationInfo_v1_t>(target, info->lastSeenTimeStamp);
    if (rows.empty()) return kNotFound;
    return give_rows(rows, &info->processSamplesCount, info->procUtilArray);
  });
}
