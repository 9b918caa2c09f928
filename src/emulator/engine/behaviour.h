// The law by which an emulated GPU works, draws power and gets warm, as a function of who holds it and of time. Pure.
//
// load         A process keeps its share of the SMs of its device busy (all of them unless it says otherwise) from the
//              moment it takes the device until it is seen to have ended. Processes of one compute instance add up to
//              at most all its SMs; a GPU instance's load counts its compute instances by their SMs, a GPU's load its
//              GPU instances by theirs.
// utilisation  A counter averages over the last second: it goes in a straight line from what it showed to the new load
//              within kSettleMs.
// power        P = idle + (busy - idle) x load: idle is 15 %, busy 90 % of the power limit.
// temperature  Goes towards 30 + 45 x (P - idle) / (busy - idle) degrees Celsius with a time constant of 30 s; the
//              memory is 8 degrees warmer under full load.
// clocks       SM clock: the boost clock while anything runs, scaled down with a lowered power limit and held by an
//              application clock that was set, else the idle clock. The video clock follows it in steps of 15 MHz.
//              Memory clock: always the same.
// memory       Used: what the holders said. The memory is busy half as much as the SMs.
// PCIe         Half of the link's rate under full load, from the host; a tenth back.
// energy       The integral of power since the driver was loaded.
#pragma once

#include <cstdint>

#include "emulator/engine/records.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

inline constexpr double kSettleMs = 1000, kHeatMs = 30'000;
inline constexpr double kIdlePower = 0.15, kBusyPower = 0.9;  // of the limit
inline constexpr double kIdleDegrees = 30, kBusyDegrees = 75, kMemoryDegrees = 8;
inline constexpr double kMemoryPerSm = 0.5;
inline constexpr double kPcieFromHost = 0.5, kPcieToHost = 0.1;

// 0 to 1.
double load_at(const LoadRecord& load, std::int64_t now_ms);
// Milliseconds at full load from the beginning to then.
double total_at(const LoadRecord& load, std::int64_t now_ms);

// Milliwatts: the highest and the lowest limit of the board, and the one in force now.
std::uint32_t board_power_mw(const GpuSpec& gpu);
std::uint32_t least_power_mw(const GpuSpec& gpu);
double power_limit_mw(const GpuSpec& gpu, const SettingsRecord& settings);
double power_mw(const GpuSpec& gpu, const SettingsRecord& settings, double load);
double degrees_at(const MeterRecord& meter, std::int64_t now_ms);
// Millijoules since the driver was loaded.
double energy_mj(const GpuSpec& gpu, const SettingsRecord& settings, const MeterRecord& meter, std::int64_t now_ms);
std::uint32_t sm_clock_mhz(const GpuSpec& gpu, const SettingsRecord& settings, bool busy);
inline constexpr std::uint32_t kClockStepMhz = 15;
// Of the video engines, with the SMs at that clock; at the boost clock it is the highest.
std::uint32_t video_clock_mhz(const GpuSpec& gpu, std::uint32_t sm_clock_mhz);

// Brings the meters of a GPU and of its instances up to its holders, as of `now_ms`. Nothing happens where the loads
// are as they were.
void follow_holders(const GpuSpec& gpu, GpuRecord& record, std::int64_t now_ms);
// Keeps what was counted so far: call it before the power limit changes.
void before_settings_change(const GpuSpec& gpu, GpuRecord& record, std::int64_t now_ms);
// The driver was loaded anew: cold, idle, counting from zero; settings at their defaults.
void start_meters(GpuRecord& record, std::int64_t now_ms);

}  // namespace partita::emulator
