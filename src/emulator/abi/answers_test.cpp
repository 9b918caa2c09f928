// What clients read, through the library as they open it: instruments, settings, events, GPM, fields, vGPU types, and
// that they agree with one another and with who holds a device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "emulator/abi/test_answers.h"

namespace partita::emulator {
namespace {

using namespace std::chrono_literals;
using test::Answers;
using test::library;
using test::two_kinds;

TEST_F(Answers, AHeldGpuIsBusyWarmAndHungry) {
  const nvmlDevice_t device = gpu(0);
  nvmlUtilization_t load{};
  unsigned long long reasons = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(device, &load), kSuccess);
  EXPECT_EQ(load.gpu, 0u);
  EXPECT_EQ(NVML(nvmlDeviceGetCurrentClocksEventReasons)(device, &reasons), kSuccess);
  EXPECT_EQ(reasons, nvmlClocksEventReasonGpuIdle);
  const unsigned idle = number(NVML(nvmlDeviceGetPowerUsage), device);
  unsigned warm = 0, clock = 0;
  ASSERT_EQ(engine_->hold(0, std::nullopt, std::nullopt, ::getpid(), 1 << 30), kSuccess);
  ASSERT_EQ(engine_->advance(120s), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(device, &load), kSuccess);
  EXPECT_EQ(load.gpu, 100u);
  EXPECT_EQ(load.memory, 50u);
  const unsigned busy = number(NVML(nvmlDeviceGetPowerUsage), device);
  EXPECT_GT(busy, 2 * idle);
  EXPECT_LE(busy, number(NVML(nvmlDeviceGetPowerManagementLimit), device));
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(device, NVML_TEMPERATURE_GPU, &warm), kSuccess);
  EXPECT_GT(warm, 60u);
  EXPECT_EQ(NVML(nvmlDeviceGetClockInfo)(device, NVML_CLOCK_SM, &clock), kSuccess);
  EXPECT_EQ(clock, 1410u);
  EXPECT_EQ(field(device, NVML_FI_DEV_POWER_INSTANT).value.uiVal, busy) << "a field tells what its getter tells";
  EXPECT_EQ(field(device, NVML_FI_DEV_GPU_TEMP).value.uiVal, warm);
  unsigned count = 4;
  nvmlProcessUtilizationSample_t rows[4];
  EXPECT_EQ(NVML(nvmlDeviceGetProcessUtilization)(device, rows, &count, 0), kSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(rows[0].pid, static_cast<unsigned>(::getpid()));
  EXPECT_EQ(rows[0].smUtil, 100u);
  EXPECT_EQ(NVML(nvmlDeviceGetProcessUtilization)(device, rows, &count, rows[0].timeStamp + 60'000'000), kNotFound);
}

TEST_F(Answers, MigModeHidesUtilisation) {
  nvmlUtilization_t load{};
  unsigned value = 0, period = 0;
  for (const nvmlDevice_t device : {gpu(1), mig_device(1, 9, 2)}) {
    EXPECT_EQ(NVML(nvmlDeviceGetUtilizationRates)(device, &load), kNotSupported);
    EXPECT_EQ(NVML(nvmlDeviceGetDecoderUtilization)(device, &value, &period), kNotSupported);
  }
  EXPECT_EQ(NVML(nvmlDeviceGetPowerUsage)(gpu(1), &value), kSuccess) << "the board's power is told";
}

TEST_F(Answers, MigDevicesRefuseWhatIsTheBoards) {
  const nvmlDevice_t device = mig_device(1, 9, 2);
  unsigned value = 0;
  unsigned long long count = 7;
  nvmlPciInfo_t pci{};
  nvmlBAR1Memory_t bar1{};
  EXPECT_EQ(NVML(nvmlDeviceGetPowerUsage)(device, &value), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetPciInfo_v3)(device, &pci), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetMinorNumber)(device, &value), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetFanSpeed)(device, &value), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetBAR1MemoryInfo)(device, &bar1), kSuccess);
  EXPECT_EQ(bar1.bar1Total, 32768ull << 20) << "half of the memory slices";
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryErrorCounter)(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                                  NVML_MEMORY_LOCATION_SRAM, &count),
            kSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryErrorCounter)(device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC,
                                                  NVML_MEMORY_LOCATION_SRAM, &count),
            kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceSetComputeMode)(device, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS), kNotSupported);
}

TEST_F(Answers, VersionsAndSizesAreChecked) {
  const nvmlDevice_t device = gpu(0);
  nvmlMemory_v2_t memory{};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(device, &memory), kVersionMismatch);
  memory.version = nvmlMemory_v2;
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo_v2)(device, &memory), kSuccess);
  nvmlFanSpeedInfo_t fan{};
  EXPECT_EQ(NVML(nvmlDeviceGetFanSpeedRPM)(device, &fan), kVersionMismatch)
      << "a function without an answer checks too";
  fan.version = nvmlFanSpeedInfo_v1;
  EXPECT_EQ(NVML(nvmlDeviceGetFanSpeedRPM)(device, &fan), kNotSupported);
  nvmlPlatformInfo_v1_t platform{};
  platform.version = nvmlPlatformInfo_v1;
  auto* get = NVML(nvmlDeviceGetPlatformInfo);
  EXPECT_EQ(get(device, reinterpret_cast<nvmlPlatformInfo_t*>(&platform)), kNotSupported) << "an older version is one";
  unsigned count = 3;
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedGraphicsClocks)(device, 1215, &count, nullptr), kInsufficientSize);
  EXPECT_EQ(count, (1410u - 210u) / 15 + 1);
  std::vector<unsigned> clocks(count);
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedGraphicsClocks)(device, 1215, &count, clocks.data()), kSuccess);
  EXPECT_EQ(clocks.front(), 1410u);
  EXPECT_EQ(clocks.back(), 210u);
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedGraphicsClocks)(device, 1, &count, clocks.data()), kNotFound);
}

TEST_F(Answers, SettingsStayAndShow) {
  const nvmlDevice_t device = gpu(0);
  unsigned least = 0, most = 0, mode = 9, current = 9, pending = 9;
  EXPECT_EQ(NVML(nvmlDeviceGetPowerManagementLimitConstraints)(device, &least, &most), kSuccess);
  EXPECT_EQ(most, 400'000u);
  EXPECT_EQ(least, 100'000u);
  EXPECT_EQ(field(device, NVML_FI_DEV_POWER_MIN_LIMIT).value.uiVal, least);
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(device, least - 1), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(device, 250'000), kSuccess);
  EXPECT_EQ(number(NVML(nvmlDeviceGetEnforcedPowerLimit), device), 250'000u);
  EXPECT_EQ(number(NVML(nvmlDeviceGetPowerManagementDefaultLimit), device), 400'000u);
  EXPECT_EQ(NVML(nvmlDeviceSetComputeMode)(device, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetComputeMode)(device, &mode), kSuccess);
  EXPECT_EQ(mode, NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
  EXPECT_EQ(NVML(nvmlDeviceSetEccMode)(device, NVML_FEATURE_DISABLED), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetEccMode)(device, &current, &pending), kSuccess);
  EXPECT_EQ(current, 1u) << "until the next reset";
  EXPECT_EQ(pending, 0u);
  EXPECT_EQ(NVML(nvmlDeviceSetAccountingMode)(gpu(1), NVML_FEATURE_ENABLED), kNotSupported) << "MIG mode is on";
  EXPECT_EQ(NVML(nvmlDeviceSetAccountingMode)(device, NVML_FEATURE_ENABLED), kSuccess);
  ASSERT_EQ(engine_->hold(0, std::nullopt, std::nullopt, ::getpid(), 1 << 30), kSuccess);
  nvmlAccountingStats_t stats{};
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingStats)(device, static_cast<unsigned>(::getpid()), &stats), kSuccess);
  EXPECT_EQ(stats.maxMemoryUsage, 1ull << 30);
  EXPECT_EQ(stats.isRunning, 1u);
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingStats)(device, 1, &stats), kNotFound);
}

TEST_F(Answers, EventsReachWhoListens) {
  nvmlEventSet_t set = nullptr, deaf = nullptr;
  nvmlEventData_t event{};
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), kSuccess);
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&deaf), kSuccess);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), kTimeout);
  ASSERT_EQ(engine_->raise_xid(0, 13), kSuccess);  // before anyone listens
  const unsigned long long types = nvmlEventTypeXidCriticalError | nvmlEventMigConfigChange;
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(0), types, set), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(0), nvmlEventTypePowerSourceChange, set), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(0), 1ull << 60, set), kInvalidArgument);
  ASSERT_EQ(engine_->raise_xid(1, 31), kSuccess);  // not the GPU that is listened to
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 1), kTimeout);
  ASSERT_EQ(engine_->raise_xid(0, 79), kSuccess);
  ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 1000), kSuccess);
  EXPECT_EQ(event.device, gpu(0));
  EXPECT_EQ(event.eventType, nvmlEventTypeXidCriticalError);
  EXPECT_EQ(event.eventData, 79u);
  EXPECT_EQ(event.gpuInstanceId, 0xffffffffu);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(deaf, &event, 0), kTimeout);
  // An event that comes while one waits ends the wait.
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    engine_->raise_xid(0, 48);
  });
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 20'000), kSuccess);
  later.join();
  EXPECT_EQ(event.eventData, 48u);
  // What came before a GPU was lost is still told, then that it is lost.
  engine_->set_condition(0, Condition::lost);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 1000), kSuccess);
  EXPECT_EQ(event.eventData, 79u);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 1000), kGpuIsLost);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), kSuccess);
  EXPECT_EQ(NVML(nvmlEventSetFree)(set), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 0), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlEventSetFree)(deaf), kSuccess);
}

TEST_F(Answers, MigChangesAreEvents) {
  nvmlEventSet_t set = nullptr;
  nvmlEventData_t event{};
  ASSERT_EQ(NVML(nvmlEventSetCreate)(&set), kSuccess);
  ASSERT_EQ(NVML(nvmlDeviceRegisterEvents)(gpu(1), nvmlEventMigConfigChange, set), kSuccess);
  mig_device(1, 19, 0);
  ASSERT_EQ(NVML(nvmlEventSetWait_v2)(set, &event, 1000), kSuccess);
  EXPECT_EQ(event.eventType, nvmlEventMigConfigChange);
  EXPECT_EQ(event.device, gpu(1));
}

double metric(nvmlGpmSample_t first, nvmlGpmSample_t second, unsigned id) {
  auto get = std::make_unique<nvmlGpmMetricsGet_t>();
  get->version = NVML_GPM_METRICS_GET_VERSION;
  get->numMetrics = 1;
  get->sample1 = first, get->sample2 = second;
  get->metrics[0].metricId = id;
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), kSuccess);
  EXPECT_EQ(get->metrics[0].nvmlReturn, kSuccess);
  return get->metrics[0].value;
}

TEST_F(Answers, GpmMeasuresAGpuInstanceBetweenTwoSamples) {
  nvmlGpmSupport_t support{NVML_GPM_SUPPORT_VERSION, 9};
  EXPECT_EQ(NVML(nvmlGpmQueryDeviceSupport)(gpu(0), &support), kSuccess);
  EXPECT_EQ(support.isSupportedDevice, 0u) << "Ampere has none";
  EXPECT_EQ(NVML(nvmlGpmQueryDeviceSupport)(gpu(1), &support), kSuccess);
  EXPECT_EQ(support.isSupportedDevice, 1u);
  const nvmlDevice_t device = mig_device(1, 9, 2);
  nvmlGpmSample_t busy[2] = {}, whole[2] = {}, old = nullptr;
  for (auto* sample : {&busy[0], &busy[1], &whole[0], &whole[1], &old}) {
    ASSERT_EQ(NVML(nvmlGpmSampleAlloc)(sample), kSuccess);
  }
  EXPECT_EQ(NVML(nvmlGpmSampleGet)(gpu(0), old), kNotSupported);
  ASSERT_EQ(engine_->hold(1, gi_, 0, ::getpid(), 1 << 20), kSuccess);
  ASSERT_EQ(engine_->advance(10s), kSuccess);
  for (const int i : {0, 1}) {
    EXPECT_EQ(NVML(nvmlGpmMigSampleGet)(gpu(1), static_cast<unsigned>(gi_), busy[i]), kSuccess);
    EXPECT_EQ(NVML(nvmlGpmSampleGet)(gpu(1), whole[i]), kSuccess);
    ASSERT_EQ(engine_->advance(10s), kSuccess);
  }
  EXPECT_NEAR(metric(busy[0], busy[1], NVML_GPM_METRIC_SM_UTIL), 100, 0.1);
  EXPECT_NEAR(metric(busy[0], busy[1], NVML_GPM_METRIC_DRAM_BW_UTIL), 50, 0.1);
  const double part = metric(whole[0], whole[1], NVML_GPM_METRIC_SM_UTIL);
  EXPECT_GT(part, 30) << "the instance is a part of the GPU";
  EXPECT_LT(part, 60);
  EXPECT_EQ(NVML(nvmlGpmMigSampleGet)(gpu(1), 5, busy[0]), kNotFound);
  EXPECT_EQ(NVML(nvmlGpmSampleGet)(device, busy[0]), kSuccess) << "a MIG device's is its GPU instance's";
  auto get = std::make_unique<nvmlGpmMetricsGet_t>();
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), kVersionMismatch);
  get->version = NVML_GPM_METRICS_GET_VERSION, get->numMetrics = 1;
  get->sample1 = busy[0], get->sample2 = whole[1];
  EXPECT_EQ(NVML(nvmlGpmMetricsGet)(get.get()), kInvalidArgument) << "samples of two things";
  EXPECT_EQ(NVML(nvmlGpmSampleFree)(old), kSuccess);
  EXPECT_EQ(NVML(nvmlGpmSampleFree)(old), kInvalidArgument);
}

TEST_F(Answers, LinksAndNeighbours) {
  unsigned level = 99, status = 99, count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTopologyCommonAncestor)(gpu(0), gpu(1), &level), kSuccess);
  EXPECT_EQ(level, NVML_TOPOLOGY_NODE);
  EXPECT_EQ(NVML(nvmlDeviceGetTopologyCommonAncestor)(gpu(0), gpu(2), &level), kSuccess);
  EXPECT_EQ(level, NVML_TOPOLOGY_SYSTEM);
  EXPECT_EQ(NVML(nvmlDeviceGetP2PStatus)(gpu(1), gpu(2), NVML_P2P_CAPS_INDEX_NVLINK, &status), kSuccess);
  EXPECT_EQ(status, NVML_P2P_STATUS_NOT_SUPPORTED) << "one of them is in MIG mode";
  EXPECT_EQ(NVML(nvmlDeviceGetTopologyNearestGpus)(gpu(0), NVML_TOPOLOGY_NODE, &count, nullptr), kSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(NVML(nvmlDeviceGetNvLinkVersion)(gpu(2), 17, &level), kSuccess);
  EXPECT_EQ(level, NVML_NVLINK_VERSION_4_0);
  EXPECT_EQ(field(gpu(2), NVML_FI_DEV_NVLINK_LINK_COUNT).value.uiVal, 18u);
  EXPECT_EQ(field(gpu(0), NVML_FI_DEV_NVLINK_LINK_COUNT).nvmlReturn, kNotSupported);
  nvmlGpuFabricInfoV_t fabric{};
  fabric.version = nvmlGpuFabricInfo_v3;
  EXPECT_EQ(NVML(nvmlDeviceGetGpuFabricInfoV)(gpu(2), &fabric), kSuccess);
  EXPECT_EQ(fabric.state, NVML_GPU_FABRIC_STATE_COMPLETED);
  EXPECT_EQ(NVML(nvmlDeviceGetGpuFabricInfoV)(gpu(0), &fabric), kNotSupported);
  unsigned long near[4];
  EXPECT_EQ(NVML(nvmlDeviceGetCpuAffinity)(gpu(0), 4, near), kSuccess);
  EXPECT_NE(near[0] | near[1] | near[2] | near[3], 0ul);
}

TEST_F(Answers, UuidsInBothForms) {
  nvmlUUID_t uuid{};
  nvmlDevice_t device = nullptr;
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &device), kVersionMismatch);
  uuid.version = nvmlUUID_v1, uuid.type = NVML_UUID_TYPE_ASCII;
  engine_->spec().gpus[1].uuid.copy(uuid.value.str, sizeof uuid.value.str - 1);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &device), kSuccess);
  EXPECT_EQ(device, gpu(1));
  uuid.type = NVML_UUID_TYPE_BINARY;
  const unsigned char bytes[16] = {0, 0, 0, 1, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x44, 0x44, 0x44, 0x41};
  std::copy_n(bytes, 16, uuid.value.bytes);
  EXPECT_EQ(NVML(nvmlDeviceGetHandleByUUIDV)(&uuid, &device), kSuccess);
  EXPECT_EQ(device, gpu(1));
}

TEST_F(Answers, OnlyHostsTellVgpuTypes) {
  unsigned mode = 9, count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetVirtualizationMode)(gpu(1), &mode), kSuccess);
  EXPECT_EQ(mode, NVML_GPU_VIRTUALIZATION_MODE_NONE);
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedVgpus)(gpu(1), &count, nullptr), kNotSupported);
}

class Host : public Answers {
 protected:
  Host() : Answers(host()) {}
  static NodeSpec host() {
    NodeSpec spec = two_kinds();
    spec.vgpu_host = true;
    return spec;
  }
};

TEST_F(Host, VgpuTypesFollowTheMode) {
  unsigned count = 0, ids[4], profile = 0, size = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedVgpus)(gpu(1), &count, nullptr), kInsufficientSize);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedVgpus)(gpu(1), &count, ids), kSuccess);
  EXPECT_EQ(ids[0], 463u) << "with MIG on, types that a GPU instance backs";
  EXPECT_EQ(NVML(nvmlDeviceGetSupportedVgpus)(gpu(2), &count, ids), kSuccess);
  EXPECT_EQ(ids[0], 468u) << "without, types that share time";
  EXPECT_EQ(NVML(nvmlVgpuTypeGetGpuInstanceProfileId)(463, &profile), kSuccess);
  EXPECT_EQ(profile, 19u);
  EXPECT_EQ(NVML(nvmlVgpuTypeGetName)(463, nullptr, &size), kInsufficientSize);
  char name[64];
  EXPECT_EQ(NVML(nvmlVgpuTypeGetName)(463, name, &size), kSuccess);
  EXPECT_STREQ(name, "GRID A100X-1-5C");
  EXPECT_EQ(NVML(nvmlVgpuTypeGetName)(1, name, &size), kInvalidArgument);
  count = 4;
  EXPECT_EQ(NVML(nvmlDeviceGetCreatableVgpus)(gpu(1), &count, ids), kSuccess);
  EXPECT_EQ(count, 0u) << "no GPU instance yet";
  mig_device(1, 19, 0);
  count = 4;
  EXPECT_EQ(NVML(nvmlDeviceGetCreatableVgpus)(gpu(1), &count, ids), kSuccess);
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace partita::emulator
