// What a board tells of itself, its clocks, what its instruments showed and who has held it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "emulator/abi/test_answers.h"
#include "emulator/engine/test_sleeper.h"

namespace partita::emulator {
namespace {

using namespace std::chrono_literals;
using test::Answers;
using test::library;
using test::two_kinds;

TEST_F(Answers, AProcessThatHasEndedStaysInTheAccounts) {
  const nvmlDevice_t device = gpu(0);
  ASSERT_EQ(NVML(nvmlDeviceSetAccountingMode)(device, NVML_FEATURE_ENABLED), kSuccess);
  unsigned pid = 0;
  {
    const test::Sleeper process;
    pid = static_cast<unsigned>(process.pid());
    ASSERT_EQ(engine_->hold(0, std::nullopt, std::nullopt, process.pid(), 3 << 20, 0.5), kSuccess);
    ASSERT_EQ(engine_->advance(60s), kSuccess);
  }
  nvmlAccountingStats_t stats{};
  ASSERT_EQ(NVML(nvmlDeviceGetAccountingStats)(device, pid, &stats), kSuccess);
  EXPECT_EQ(stats.isRunning, 0u);
  EXPECT_GE(stats.time, 60'000u);
  EXPECT_LT(stats.time, 120'000u);
  EXPECT_EQ(stats.gpuUtilization, 50u);
  EXPECT_EQ(stats.memoryUtilization, 25u);
  EXPECT_EQ(stats.maxMemoryUsage, 3u << 20);
  nvmlAccountingStats_v2_t second{};
  second.pid = pid;
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingStats_v2)(device, &second), kSuccess);
  EXPECT_EQ(second.startTime, stats.startTime);
  unsigned pids[4] = {}, count = 4;
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingPids)(device, &count, pids), kSuccess);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(pids[0], pid);
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingStats)(gpu(2), pid, &stats), kNotFound) << "it was on the other GPU";
  EXPECT_EQ(number(NVML(nvmlDeviceGetAccountingBufferSize), device), 4000u);
  EXPECT_EQ(NVML(nvmlDeviceClearAccountingPids)(device), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetAccountingStats)(device, pid, &stats), kNotFound);
}

TEST_F(Answers, ApplicationClocksHoldBackWhatRuns) {
  const nvmlDevice_t device = gpu(0);
  const auto clock = [&](auto* function, unsigned type) {
    unsigned mhz = 0;
    EXPECT_EQ(function(device, type, &mhz), kSuccess);
    return mhz;
  };
  EXPECT_EQ(clock(NVML(nvmlDeviceGetDefaultApplicationsClock), NVML_CLOCK_GRAPHICS), 1095u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetApplicationsClock), NVML_CLOCK_GRAPHICS), 1095u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetApplicationsClock), NVML_CLOCK_MEM), 1215u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetMaxClockInfo), NVML_CLOCK_VIDEO), 1290u);
  ASSERT_EQ(engine_->hold(0, std::nullopt, std::nullopt, ::getpid(), 0), kSuccess);
  ASSERT_EQ(engine_->advance(10s), kSuccess);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetClockInfo), NVML_CLOCK_SM), 1410u) << "the default holds nothing back";
  EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(device, 1215, 1201), kInvalidArgument) << "no clock of the board";
  EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(device, 1214, 1155), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(device, 1215, 1155), kSuccess);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetApplicationsClock), NVML_CLOCK_GRAPHICS), 1155u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetClockInfo), NVML_CLOCK_SM), 1155u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetClockInfo), NVML_CLOCK_VIDEO), 1050u) << "as an A100 shows";
  unsigned long long reasons = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCurrentClocksEventReasons)(device, &reasons), kSuccess);
  EXPECT_EQ(reasons, nvmlClocksEventReasonApplicationsClocksSetting);
  EXPECT_EQ(NVML(nvmlDeviceResetApplicationsClocks)(device), kSuccess);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetClockInfo), NVML_CLOCK_SM), 1410u);
  EXPECT_EQ(clock(NVML(nvmlDeviceGetApplicationsClock), NVML_CLOCK_GRAPHICS), 1095u);
}

TEST_F(Answers, SamplesGoBackToTheLastChange) {
  const nvmlDevice_t device = gpu(0);
  ASSERT_EQ(engine_->advance(60s), kSuccess);
  ASSERT_EQ(engine_->hold(0, std::nullopt, std::nullopt, ::getpid(), 0), kSuccess);
  ASSERT_EQ(engine_->advance(5s), kSuccess);
  nvmlValueType_t type = 9;
  unsigned count = 0;
  ASSERT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, nullptr), kSuccess);
  EXPECT_EQ(type, NVML_VALUE_TYPE_UNSIGNED_INT);
  ASSERT_GE(count, 31u);
  std::vector<nvmlSample_t> samples(count);
  ASSERT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, samples.data()),
            kSuccess);
  ASSERT_GE(count, 29u) << "five seconds, six a second";
  ASSERT_LE(count, samples.size());
  samples.resize(count);
  for (std::size_t i = 1; i < samples.size(); ++i) {
    EXPECT_LE(samples[i].timeStamp - samples[i - 1].timeStamp, 167'000u);
    EXPECT_EQ(samples[i].timeStamp % 167'000, 0u);
    EXPECT_GE(samples[i].sampleValue.uiVal, samples[i - 1].sampleValue.uiVal) << "the load settles within a second";
  }
  EXPECT_EQ(samples.front().sampleValue.uiVal, 0u) << "the moment when the process came";
  EXPECT_EQ(samples.back().sampleValue.uiVal, 100u);
  // Those later than one that was seen, and as many as there is room for: the last ones.
  unsigned few = count;
  std::vector<nvmlSample_t> rest(count);
  const auto seen = samples[count - 3].timeStamp;
  ASSERT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_TOTAL_POWER_SAMPLES, seen, &type, &few, rest.data()), kSuccess);
  ASSERT_GE(few, 2u);
  EXPECT_EQ(rest[0].timeStamp, samples[count - 2].timeStamp);
  EXPECT_EQ(rest[0].sampleValue.uiVal, number(NVML(nvmlDeviceGetPowerUsage), device));
  few = 1;
  ASSERT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_TOTAL_POWER_SAMPLES, 0, &type, &few, rest.data()), kSuccess);
  EXPECT_EQ(few, 1u);
  EXPECT_GE(rest[0].timeStamp, samples.back().timeStamp);
  // A change just now leaves one: there is never none.
  EXPECT_EQ(NVML(nvmlDeviceSetPowerManagementLimit)(device, 300'000), kSuccess);
  few = 100, rest.resize(few);
  ASSERT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_TOTAL_POWER_SAMPLES, 0, &type, &few, rest.data()), kSuccess);
  EXPECT_EQ(rest[0].sampleValue.uiVal, 270'000u);
  EXPECT_EQ(NVML(nvmlDeviceGetSamples)(device, NVML_TOTAL_POWER_SAMPLES, ~0ull, &type, &few, rest.data()), kNotFound);
}

TEST_F(Answers, ABoardTellsWhatItCarriesWhereACardWasSeen) {
  char text[96] = {};
  unsigned bits = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetBoardPartNumber)(gpu(0), text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "692-2G506-0200-002");
  EXPECT_EQ(NVML(nvmlDeviceGetBoardPartNumber)(gpu(0), text, 4), kInsufficientSize);
  EXPECT_EQ(NVML(nvmlDeviceGetInforomImageVersion)(gpu(0), text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "G506.0200.00.04");
  EXPECT_EQ(NVML(nvmlDeviceGetInforomVersion)(gpu(0), NVML_INFOROM_ECC, text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "6.16");
  EXPECT_EQ(NVML(nvmlDeviceGetInforomVersion)(gpu(0), NVML_INFOROM_POWER, text, sizeof text), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetInforomVersion)(gpu(0), NVML_INFOROM_COUNT, text, sizeof text), kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceValidateInforom)(gpu(0)), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetVbiosVersion)(gpu(0), text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "92.00.36.00.04");
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryBusWidth)(gpu(0), &bits), kSuccess);
  EXPECT_EQ(bits, 5120u);
  nvmlRowRemapperHistogramValues_t rows{};
  EXPECT_EQ(NVML(nvmlDeviceGetRowRemapperHistogram)(gpu(0), &rows), kSuccess);
  EXPECT_EQ(rows.max, 640u);
  // Another board, of which nothing is known.
  EXPECT_EQ(NVML(nvmlDeviceGetBoardPartNumber)(gpu(2), text, sizeof text), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetInforomImageVersion)(gpu(2), text, sizeof text), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceValidateInforom)(gpu(2)), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryBusWidth)(gpu(2), &bits), kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetVbiosVersion)(gpu(2), text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "96.00.00.00.00");
}

TEST_F(Answers, HopperTellsTemperaturesAsDistances) {
  const nvmlDevice_t ampere = gpu(0), hopper = gpu(2);
  unsigned degrees = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetTemperatureThreshold)(ampere, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, &degrees), kSuccess);
  EXPECT_EQ(degrees, 92u);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperatureThreshold)(ampere, NVML_TEMPERATURE_THRESHOLD_GPU_MAX, &degrees), kSuccess);
  EXPECT_EQ(degrees, 85u);
  nvmlMarginTemperature_t margin{nvmlMarginTemperature_v1, 0};
  EXPECT_EQ(NVML(nvmlDeviceGetMarginTemperature)(ampere, &margin), kNotSupported);
  EXPECT_EQ(field(ampere, NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT).nvmlReturn, kNotSupported);
  EXPECT_EQ(NVML(nvmlDeviceGetMarginTemperature)(hopper, &margin), kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetTemperature)(hopper, NVML_TEMPERATURE_GPU, &degrees), kSuccess);
  EXPECT_EQ(margin.marginTemperature, 87 - static_cast<int>(degrees));
  EXPECT_EQ(field(hopper, NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT).value.siVal, -8);
  EXPECT_EQ(field(hopper, NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT).value.siVal, -2);
  EXPECT_EQ(field(hopper, NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT).value.siVal, 0);
}

TEST_F(Answers, NoMemoryIsProtected) {
  nvmlMemory_t memory{1, 1, 1};
  EXPECT_EQ(NVML(nvmlDeviceGetConfComputeProtectedMemoryUsage)(gpu(0), &memory), kSuccess);
  EXPECT_EQ(memory.total + memory.free + memory.used, 0u);
}

// Application clocks went with R590.
class NewDriver : public Answers {
 protected:
  NewDriver() : Answers(node()) {}
  static NodeSpec node() {
    NodeSpec spec = two_kinds();
    spec.driver_version = "595.58.03";
    return spec;
  }
};

TEST_F(NewDriver, HasNoApplicationClocks) {
  unsigned mhz = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetApplicationsClock)(gpu(0), NVML_CLOCK_SM, &mhz), kDeprecated);
  EXPECT_EQ(NVML(nvmlDeviceGetDefaultApplicationsClock)(gpu(0), NVML_CLOCK_SM, &mhz), kDeprecated);
  EXPECT_EQ(NVML(nvmlDeviceSetApplicationsClocks)(gpu(0), 1215, 1155), kDeprecated);
  EXPECT_EQ(NVML(nvmlDeviceResetApplicationsClocks)(gpu(0)), kDeprecated);
  EXPECT_EQ(NVML(nvmlDeviceGetClock)(gpu(0), NVML_CLOCK_SM, NVML_CLOCK_ID_APP_CLOCK_TARGET, &mhz), kDeprecated);
  EXPECT_EQ(NVML(nvmlDeviceGetClock)(gpu(0), NVML_CLOCK_SM, NVML_CLOCK_ID_CUSTOMER_BOOST_MAX, &mhz), kSuccess);
  EXPECT_STREQ(NVML(nvmlErrorString)(static_cast<nvmlReturn_t>(kDeprecated)),
               "Requested functionality has been deprecated");
}

}  // namespace
}  // namespace partita::emulator
