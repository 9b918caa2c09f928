// What changes while programs run: memory, utilisation, ECC, temperature, power, clocks.
#include <fmt/format.h>

#include "emulator/engine/nvml_return.h"
#include "emulator/programs/reading.h"

namespace partita::emulator::programs {

namespace {

// NVML_CLOCK_*, NVML_TEMPERATURE_THRESHOLD_*
enum Clock : unsigned { graphics = 0, sm = 1, memory = 2, video = 3 };
enum Threshold : unsigned { shutdown = 0, slowdown = 1 };

std::string watts(std::optional<unsigned> milliwatts) {
  return milliwatts ? fmt::format("{:.2f} W", static_cast<double>(*milliwatts) / 1000) : "N/A";
}

// The framebuffer of form 2, which tells what is reserved.
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

Field memory_field(const Gpu& gpu) {
  MemoryV2 memory{};
  memory.version = sizeof memory | 2U << 24;
  const bool known = call<"nvmlDeviceGetMemoryInfo_v2">(gpu.device, &memory) == driver::kNvmlSuccess;
  const auto text = [&](unsigned long long bytes) { return known ? mib(bytes) : "N/A"; };
  return branch("fb_memory_usage", "FB Memory Usage",
                {leaf("total", "Total", text(memory.total)), leaf("reserved", "Reserved", text(memory.reserved)),
                 leaf("used", "Used", text(memory.used)), leaf("free", "Free", text(memory.free))});
}

Field bar1_field(const Gpu& gpu) {
  // NVML's order differs from that of the framebuffer: total, free, used is the same for both.
  const auto memory = ask<"nvmlDeviceGetBAR1MemoryInfo", driver::NvmlMemory>(gpu.device);
  return branch("bar1_memory_usage", "BAR1 Memory Usage",
                {leaf("total", "Total", memory ? mib(memory->total) : "N/A"),
                 leaf("used", "Used", memory ? mib(memory->used) : "N/A"),
                 leaf("free", "Free", memory ? mib(memory->free) : "N/A")});
}

Field utilisation_field(const Gpu& gpu) {
  const auto rates = ask<"nvmlDeviceGetUtilizationRates", driver::NvmlUtilization>(gpu.device);
  const auto percent = [](std::optional<unsigned> value) { return with_unit(value, "%"); };
  unsigned value = 0, period = 0;
  const auto engine = [&](int answer) { return answer == driver::kNvmlSuccess ? percent(value) : "N/A"; };
  Field field = branch("utilization", "Utilization",
                       {leaf("gpu_util", "Gpu", percent(rates ? std::optional(rates->gpu) : std::nullopt)),
                        leaf("memory_util", "Memory", percent(rates ? std::optional(rates->memory) : std::nullopt))});
  field.parts.push_back(
      leaf("encoder_util", "Encoder", engine(call<"nvmlDeviceGetEncoderUtilization">(gpu.device, &value, &period))));
  field.parts.push_back(
      leaf("decoder_util", "Decoder", engine(call<"nvmlDeviceGetDecoderUtilization">(gpu.device, &value, &period))));
  field.parts.push_back(
      leaf("jpeg_util", "JPEG", engine(call<"nvmlDeviceGetJpgUtilization">(gpu.device, &value, &period))));
  field.parts.push_back(
      leaf("ofa_util", "OFA", engine(call<"nvmlDeviceGetOfaUtilization">(gpu.device, &value, &period))));
  return field;
}

std::vector<Field> ecc_fields(const Gpu& gpu) {
  unsigned current = 0, pending = 0;
  const bool known = call<"nvmlDeviceGetEccMode">(gpu.device, &current, &pending) == driver::kNvmlSuccess;
  unsigned long long errors = 0;
  const bool counted = call<"nvmlDeviceGetTotalEccErrors">(gpu.device, 1U, 0U, &errors) == driver::kNvmlSuccess;
  return {branch("ecc_mode", "ECC Mode",
                 {leaf("current_ecc", "Current", known ? enabled_or_not(current) : "N/A"),
                  leaf("pending_ecc", "Pending", known ? enabled_or_not(pending) : "N/A")}),
          branch("ecc_errors", "ECC Errors",
                 {branch("volatile", "Volatile",
                         {leaf("sram_uncorrectable", "Uncorrectable", counted ? std::to_string(errors) : "N/A")})})};
}

Field temperature_field(const Gpu& gpu) {
  const auto degrees = [](std::optional<unsigned> value) { return with_unit(value, "C"); };
  return branch(
      "temperature", "Temperature",
      {leaf("gpu_temp", "GPU Current Temp", degrees(ask<"nvmlDeviceGetTemperature", unsigned>(gpu.device, 0U))),
       leaf("gpu_temp_max_threshold", "GPU Shutdown Temp",
            degrees(ask<"nvmlDeviceGetTemperatureThreshold", unsigned>(gpu.device, unsigned{shutdown}))),
       leaf("gpu_temp_slow_threshold", "GPU Slowdown Temp",
            degrees(ask<"nvmlDeviceGetTemperatureThreshold", unsigned>(gpu.device, unsigned{slowdown})))});
}

Field power_field(const Gpu& gpu) {
  const auto state = ask<"nvmlDeviceGetPerformanceState", unsigned>(gpu.device);
  unsigned least = 0, most = 0;
  const bool range =
      call<"nvmlDeviceGetPowerManagementLimitConstraints">(gpu.device, &least, &most) == driver::kNvmlSuccess;
  return branch("gpu_power_readings", "GPU Power Readings",
                {leaf("power_state", "Power State", state ? "P" + std::to_string(*state) : "N/A"),
                 leaf("power_draw", "Power Draw", watts(ask<"nvmlDeviceGetPowerUsage", unsigned>(gpu.device))),
                 leaf("current_power_limit", "Current Power Limit",
                      watts(ask<"nvmlDeviceGetEnforcedPowerLimit", unsigned>(gpu.device))),
                 leaf("default_power_limit", "Default Power Limit",
                      watts(ask<"nvmlDeviceGetPowerManagementDefaultLimit", unsigned>(gpu.device))),
                 leaf("min_power_limit", "Min Power Limit", range ? watts(least) : "N/A"),
                 leaf("max_power_limit", "Max Power Limit", range ? watts(most) : "N/A")});
}

template <FunctionName Name>
Field clocks_field(const Gpu& gpu, const char* tag, const char* label) {
  const auto clock = [&](unsigned which) { return with_unit(ask<Name, unsigned>(gpu.device, which), "MHz"); };
  return branch(tag, label,
                {leaf("graphics_clock", "Graphics", clock(graphics)), leaf("sm_clock", "SM", clock(sm)),
                 leaf("mem_clock", "Memory", clock(memory)), leaf("video_clock", "Video", clock(video))});
}

// Application clocks: what the driver says where it has given them up.
template <FunctionName Name>
Field applications_field(const Gpu& gpu, const char* tag, const char* label) {
  const auto clock = [&](unsigned which) {
    unsigned mhz = 0;
    const int answer = call<Name>(gpu.device, which, &mhz);
    if (answer == kDeprecated) return error_text(answer);
    return answer == driver::kNvmlSuccess ? with_unit(std::optional(mhz), "MHz") : "N/A";
  };
  return branch(tag, label,
                {leaf("graphics_clock", "Graphics", clock(graphics)), leaf("mem_clock", "Memory", clock(memory))});
}

}  // namespace

std::vector<Field> read_meters(const Gpu& gpu) {
  std::vector<Field> fields = {memory_field(gpu), bar1_field(gpu), utilisation_field(gpu)};
  for (Field& field : ecc_fields(gpu)) fields.push_back(std::move(field));
  fields.push_back(temperature_field(gpu));
  fields.push_back(power_field(gpu));
  fields.push_back(clocks_field<"nvmlDeviceGetClockInfo">(gpu, "clocks", "Clocks"));
  fields.push_back(
      applications_field<"nvmlDeviceGetApplicationsClock">(gpu, "applications_clocks", "Applications Clocks"));
  fields.push_back(applications_field<"nvmlDeviceGetDefaultApplicationsClock">(gpu, "default_applications_clocks",
                                                                               "Default Applications Clocks"));
  fields.push_back(clocks_field<"nvmlDeviceGetMaxClockInfo">(gpu, "max_clocks", "Max Clocks"));
  return fields;
}

}  // namespace partita::emulator::programs
