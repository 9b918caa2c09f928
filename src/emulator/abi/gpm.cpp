// GPM: activity between two samples, of a GPU or of a GPU instance, on Hopper and later. The law: the SMs' activity is
// the load; half of the warps are there, and of the time that SMs are active, tensor cores work one half (in half
// precision), FP32 one fifth, integers and FP16 one tenth. Memory and PCIe follow behaviour.h. Media engines and NVLink
// are idle.
#include <algorithm>
#include <memory>

#include "emulator/abi/links.h"
#include "emulator/abi/objects.h"
#include "emulator/abi/pcie.h"
#include "emulator/abi/state_words.h"
#include "emulator/engine/behaviour.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

// What the instruments showed.
struct GpmSample {
  bool taken = false;
  int gpu = 0, gpu_instance = -1;
  partita::Time time{};
  double sm = 0, any = 0;                    // now
  double sm_total_ms = 0, any_total_ms = 0;  // so far
};

Objects<GpmSample, HandleKind::gpm_sample>& samples() {
  static auto* all = new Objects<GpmSample, HandleKind::gpm_sample>;  // outlives every static destructor
  return *all;
}

bool has_gpm(const GpuSpec& gpu) { return gpu.compute_capability_major >= 9; }

Return sample_gpu(const Target& target, const void* handle) {
  const auto sample = samples().find(handle);
  if (!sample) return kInvalidArgument;
  const GpuReadings now = target.engine.readings(target.handle.gpu);
  *sample = {true, target.handle.gpu, -1, now.time, now.sm, now.any, now.sm_total_ms, now.any_total_ms};
  return kSuccess;
}

Return sample_instance(const Target& target, int gpu_instance, const void* handle) {
  const auto sample = samples().find(handle);
  if (!sample) return kInvalidArgument;
  const auto now = target.engine.readings(target.handle.gpu, gpu_instance);
  if (!now) return kNotFound;
  *sample = {true, target.handle.gpu, gpu_instance, now->time, now->sm, now->sm, now->sm_total_ms, now->sm_total_ms};
  return kSuccess;
}

struct Activity {
  double sm = 0, any = 0;  // 0 to 1, averaged over the time between
};

// Two samples of the same moment show that moment.
Activity between(const GpmSample& first, const GpmSample& second) {
  const auto ms = static_cast<double>((second.time - first.time).count());
  if (ms <= 0) return {second.sm, second.any};
  const auto share = [&](double total) { return std::min(1.0, std::max(0.0, total / ms)); };
  return {share(second.sm_total_ms - first.sm_total_ms), share(second.any_total_ms - first.any_total_ms)};
}

constexpr double kOccupancy = 0.5, kTensor = 0.5, kFp32 = 0.2, kInteger = 0.1, kFp16 = 0.1;

struct Metric {
  unsigned id;
  const char *short_name, *long_name;
  double of_sm;  // share of the SMs' activity
};
constexpr Metric kPipes[] = {
    {NVML_GPM_METRIC_SM_UTIL, "SM Util", "SM Utilization", 1},
    {NVML_GPM_METRIC_SM_OCCUPANCY, "SM Occupancy", "SM Occupancy", kOccupancy},
    {NVML_GPM_METRIC_INTEGER_UTIL, "Integer", "Integer Pipe Utilization", kInteger},
    {NVML_GPM_METRIC_ANY_TENSOR_UTIL, "Any Tensor", "Any Tensor Pipe Utilization", kTensor},
    {NVML_GPM_METRIC_DFMA_TENSOR_UTIL, "DFMA Tensor", "DFMA Tensor Pipe Utilization", 0},
    {NVML_GPM_METRIC_HMMA_TENSOR_UTIL, "HMMA Tensor", "HMMA Tensor Pipe Utilization", kTensor},
    {NVML_GPM_METRIC_IMMA_TENSOR_UTIL, "IMMA Tensor", "IMMA Tensor Pipe Utilization", 0},
    {NVML_GPM_METRIC_DRAM_BW_UTIL, "DRAM BW", "DRAM Bandwidth Utilization", kMemoryPerSm},
    {NVML_GPM_METRIC_FP64_UTIL, "FP64", "FP64 Pipe Utilization", 0},
    {NVML_GPM_METRIC_FP32_UTIL, "FP32", "FP32 Pipe Utilization", kFp32},
    {NVML_GPM_METRIC_FP16_UTIL, "FP16", "FP16 Pipe Utilization", kFp16},
};

bool in(unsigned id, unsigned first, unsigned last) { return id >= first && id <= last; }

void name(nvmlGpmMetric_t& metric, const char* short_name, const char* long_name, const char* unit) {
  metric.metricInfo = {const_cast<char*>(short_name), const_cast<char*>(long_name), const_cast<char*>(unit)};
}

void measure(nvmlGpmMetric_t& metric, const GpuSpec& gpu, const Activity& activity) {
  metric.nvmlReturn = kSuccess;
  const unsigned id = metric.metricId;
  const double pcie = pcie_mb_per_s(gpu) * 1e6 / (1 << 20) * activity.sm;
  for (const Metric& pipe : kPipes) {
    if (pipe.id != id) continue;
    metric.value = 100 * activity.sm * pipe.of_sm;
    return name(metric, pipe.short_name, pipe.long_name, "%");
  }
  metric.value = 0;
  if (id == NVML_GPM_METRIC_GRAPHICS_UTIL) {
    metric.value = 100 * activity.any;
    name(metric, "Graphics Util", "Graphics Engine Utilization", "%");
  } else if (id == NVML_GPM_METRIC_PCIE_TX_PER_SEC) {
    metric.value = pcie * kPcieToHost;
    name(metric, "PCIe TX", "PCIe Traffic to the Host", "MiB/s");
  } else if (id == NVML_GPM_METRIC_PCIE_RX_PER_SEC) {
    metric.value = pcie * kPcieFromHost;
    name(metric, "PCIe RX", "PCIe Traffic from the Host", "MiB/s");
  } else if (in(id, NVML_GPM_METRIC_NVDEC_0_UTIL, NVML_GPM_METRIC_NVDEC_7_UTIL)) {
    name(metric, "NVDEC", "Decoder Utilization", "%");
  } else if (in(id, NVML_GPM_METRIC_NVJPG_0_UTIL, NVML_GPM_METRIC_NVJPG_7_UTIL)) {
    name(metric, "NVJPG", "JPEG Engine Utilization", "%");
  } else if (in(id, NVML_GPM_METRIC_NVOFA_0_UTIL, NVML_GPM_METRIC_NVOFA_1_UTIL)) {
    name(metric, "NVOFA", "Optical Flow Engine Utilization", "%");
  } else if (gpu.nvlinks > 0 &&
             in(id, NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC)) {
    name(metric, "NVLink", "NVLink Traffic", "MiB/s");
  } else {
    metric.nvmlReturn = kNotSupported;
    name(metric, "", "", "");
  }
}

}  // namespace

void partita::emulator::abi::forget_gpm_samples() { samples().clear(); }

NVML_EXPORT nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  return guarded(__func__, -1, [&](Engine&) -> Return {
    if (sample == nullptr) return kInvalidArgument;
    *sample = samples().add(std::make_shared<GpmSample>());
    return kSuccess;
  });
}

NVML_EXPORT nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  return guarded(__func__, -1,
                 [&](Engine&) -> Return { return samples().remove(sample) ? kSuccess : kInvalidArgument; });
}

NVML_EXPORT nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (!has_gpm(target.spec)) return kNotSupported;
    return target.is_mig() ? sample_instance(target, target.handle.gpu_instance, sample) : sample_gpu(target, sample);
  });
}

NVML_EXPORT nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned gpu_instance, nvmlGpmSample_t sample) {
  return on_gpu(__func__, device, [&](const Target& target) -> Return {
    if (!has_gpm(target.spec) || !target.mig_is_on()) return kNotSupported;
    if (gpu_instance >= kMaxGpuInstances) return kInvalidArgument;
    return sample_instance(target, static_cast<int>(gpu_instance), sample);
  });
}

NVML_EXPORT nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* get) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (get == nullptr) return kInvalidArgument;
    if (get->version != NVML_GPM_METRICS_GET_VERSION) return kVersionMismatch;
    if (get->numMetrics == 0 || get->numMetrics > std::size(get->metrics)) return kInvalidArgument;
    const auto first = samples().find(get->sample1), second = samples().find(get->sample2);
    if (!first || !second || !first->taken || !second->taken) return kInvalidArgument;
    if (first->gpu != second->gpu || first->gpu_instance != second->gpu_instance) return kInvalidArgument;
    const GpuSpec& gpu = engine.spec().gpus[static_cast<std::size_t>(second->gpu)];
    const Activity activity = between(*first, *second);
    for (unsigned i = 0; i < get->numMetrics; ++i) measure(get->metrics[i], gpu, activity);
    return kSuccess;
  });
}

NVML_EXPORT nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  return on_device(__func__, device, Takes::gpus_and_mig_devices, [&](const Target& target) -> Return {
    if (support == nullptr) return kInvalidArgument;
    if (support->version != NVML_GPM_SUPPORT_VERSION) return kVersionMismatch;
    support->isSupportedDevice = has_gpm(target.spec) ? 1 : 0;
    return kSuccess;
  });
}

NVML_EXPORT nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned* state) {
  return on_gpu(__func__, device,
                [&](const Target& target) -> Return { return has_gpm(target.spec) ? give(state, 0u) : kNotSupported; });
}
