#include "emulator/engine/behaviour.h"

#include <algorithm>
#include <span>

#include "emulator/engine/rules.h"

namespace partita::emulator {

namespace {

// Never negative: the machine's clock may have been set back.
double since(const LoadRecord& load, std::int64_t now_ms) {
  return static_cast<double>(std::max<std::int64_t>(0, now_ms - load.since_ms));
}

void change(LoadRecord& load, double to, std::int64_t now_ms) {
  load = {std::max(now_ms, load.since_ms), total_at(load, now_ms), static_cast<float>(load_at(load, now_ms)),
          static_cast<float>(to)};
}

std::span<const HolderRecord> holders_of(const GpuRecord& record) {
  return {record.holders.data(), record.holder_count};
}

// Sum of the loads of those that hold just this device, at most 1.
double held_load(const GpuRecord& record, int gpu_instance, int compute_instance) {
  double sum = 0;
  for (const HolderRecord& h : holders_of(record)) {
    if (h.gpu_instance == gpu_instance && h.compute_instance == compute_instance) sum += h.load;
  }
  return std::min(sum, 1.0);
}

// SMs of a compute instance over those of its GPU instance; by slices where they are not known.
double share(const ProfileSpec& profile, const ComputeRecord& compute) {
  const ComputeProfileSpec* kind = find_compute_profile(profile, compute.profile);
  if (kind != nullptr && kind->sm > 0 && profile.sm > 0) return std::min(1.0, 1.0 * kind->sm / profile.sm);
  return std::min(1.0, 1.0 * compute.slices / std::max(1, profile.compute_slices));
}

double share(const GpuSpec& gpu, const ProfileSpec& profile) {
  if (profile.sm > 0 && gpu.sm > 0) return std::min(1.0, 1.0 * profile.sm / gpu.sm);
  return std::min(1.0, 1.0 * profile.compute_slices / std::max(1, gpu.compute_slices));
}

double instance_load(const GpuRecord& record, const ProfileSpec& profile, const InstanceRecord& instance) {
  double sum = 0;
  for (std::size_t i = 0; i < instance.compute_count; ++i) {
    const ComputeRecord& compute = instance.compute[i];
    sum += share(profile, compute) * held_load(record, instance.id, compute.id);
  }
  return std::min(sum, 1.0);
}

double resting_degrees(double load) { return kIdleDegrees + (kBusyDegrees - kIdleDegrees) * load; }

// e^-x for x >= 0, to nine digits: the library shall need nothing but libc, and exp is libm's.
double falling(double x) {
  constexpr int kHalvings = 12;
  const double small = std::min(x, 64.0) / (1 << kHalvings);
  double value = 1 - small + small * small / 2 - small * small * small / 6;
  for (int i = 0; i < kHalvings; ++i) value *= value;
  return value;
}

}  // namespace

double load_at(const LoadRecord& load, std::int64_t now_ms) {
  return load.from + (load.to - load.from) * std::min(1.0, since(load, now_ms) / kSettleMs);
}

double total_at(const LoadRecord& load, std::int64_t now_ms) {
  const double passed = since(load, now_ms), settling = std::min(passed, kSettleMs);
  return load.total_ms + settling * (load.from + load_at(load, now_ms)) / 2 + (passed - settling) * load.to;
}

std::uint32_t board_power_mw(const GpuSpec& gpu) {
  return gpu.power_limit_mw != 0 ? gpu.power_limit_mw : 3000U * static_cast<std::uint32_t>(std::max(1, gpu.sm));
}

std::uint32_t least_power_mw(const GpuSpec& gpu) {
  return gpu.least_power_mw != 0 ? std::min(gpu.least_power_mw, board_power_mw(gpu)) : board_power_mw(gpu) / 2;
}

double power_limit_mw(const GpuSpec& gpu, const SettingsRecord& settings) {
  return settings.power_limit_mw != 0 ? settings.power_limit_mw : board_power_mw(gpu);
}

double power_mw(const GpuSpec& gpu, const SettingsRecord& settings, double load) {
  const double idle = kIdlePower * board_power_mw(gpu), busy = kBusyPower * power_limit_mw(gpu, settings);
  return idle + std::max(0.0, busy - idle) * load;
}

double degrees_at(const MeterRecord& meter, std::int64_t now_ms) {
  const double rest = resting_degrees(meter.sm.to);
  return rest + (meter.degrees - rest) * falling(since(meter.sm, now_ms) / kHeatMs);
}

double energy_mj(const GpuSpec& gpu, const SettingsRecord& settings, const MeterRecord& meter, std::int64_t now_ms) {
  const double idle = power_mw(gpu, settings, 0), swing = power_mw(gpu, settings, 1) - idle;
  const auto passed_ms = static_cast<double>(std::max<std::int64_t>(0, now_ms - meter.energy_since_ms));
  return meter.energy_mj + (idle * passed_ms + swing * (total_at(meter.sm, now_ms) - meter.energy_total_ms)) / 1000;
}

std::uint32_t sm_clock_mhz(const GpuSpec& gpu, const SettingsRecord& settings, bool busy) {
  if (!busy) return std::max(gpu.idle_clock_mhz, settings.least_clock_mhz);
  const double part = std::min(1.0, power_limit_mw(gpu, settings) / board_power_mw(gpu));
  auto clock = static_cast<std::uint32_t>(gpu.idle_clock_mhz + part * (gpu.boost_clock_mhz - gpu.idle_clock_mhz));
  if (settings.application_clock_mhz != 0) clock = std::min(clock, settings.application_clock_mhz);
  if (settings.most_clock_mhz != 0) clock = std::min(clock, settings.most_clock_mhz);
  return std::max(clock, std::max(gpu.idle_clock_mhz, settings.least_clock_mhz));
}

std::uint32_t video_clock_mhz(const GpuSpec& gpu, std::uint32_t sm_clock_mhz) {
  if (gpu.video_clock_mhz == 0 || gpu.boost_clock_mhz == 0) return sm_clock_mhz;
  const std::uint32_t clock = gpu.video_clock_mhz * sm_clock_mhz / gpu.boost_clock_mhz;
  return sm_clock_mhz >= gpu.boost_clock_mhz ? gpu.video_clock_mhz : clock - clock % kClockStepMhz;
}

void follow_holders(const GpuSpec& gpu, GpuRecord& record, std::int64_t now_ms) {
  if (record.holder_count == 0 && record.meter.any.to == 0) return;
  double any = 0, sm = held_load(record, -1, -1);
  for (const HolderRecord& h : holders_of(record)) any = std::max(any, static_cast<double>(h.load));
  for (std::size_t i = 0; i < record.instance_count; ++i) {
    InstanceRecord& instance = record.instances[i];
    const ProfileSpec& profile = gpu.profiles[instance.profile];
    const double load = instance_load(record, profile, instance);
    if (static_cast<float>(load) != instance.load.to) change(instance.load, load, now_ms);
    sm += share(gpu, profile) * load;
  }
  sm = std::min(sm, 1.0);
  if (static_cast<float>(any) != record.meter.any.to) change(record.meter.any, any, now_ms);
  if (static_cast<float>(sm) == record.meter.sm.to) return;
  record.meter.degrees = degrees_at(record.meter, now_ms);
  change(record.meter.sm, sm, now_ms);
}

void before_settings_change(const GpuSpec& gpu, GpuRecord& record, std::int64_t now_ms) {
  record.meter.energy_mj = energy_mj(gpu, record.settings, record.meter, now_ms);
  record.meter.energy_since_ms = std::max(now_ms, record.meter.energy_since_ms);
  record.meter.energy_total_ms = total_at(record.meter.sm, now_ms);
}

void start_meters(GpuRecord& record, std::int64_t now_ms) {
  record.meter = {};
  record.meter.any.since_ms = record.meter.sm.since_ms = record.meter.energy_since_ms = now_ms;
  const SettingsRecord before = record.settings;
  record.settings = {};
  record.settings.ecc_current = record.settings.ecc_pending = before.ecc_pending;
}

}  // namespace partita::emulator
