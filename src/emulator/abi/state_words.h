// Numbers of a GPU that several functions and fields tell.
#pragma once

#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

// Degrees Celsius: of A100 boards; of H100, H200 and GH200, which tell them as distances from the highest (-8, -2, 0).
struct ThermalLimits {
  unsigned shutdown, slowdown, most, most_memory;
};
inline ThermalLimits thermal_limits(const GpuSpec& gpu) {
  return gpu.compute_capability_major < 9 ? ThermalLimits{92, 89, 85, 95} : ThermalLimits{95, 89, 87, 95};
}

// Microseconds since 1970, on the node's clock.
inline long long microseconds(Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

inline unsigned percent(double share) { return static_cast<unsigned>(share * 100 + 0.5); }

// Banks of memory whose rows error correction could still replace: 128 for each stack of HBM on GA100, 512 on GH100; 0
// where not known. A stack has 1024 bits of the bus, of which some may be off. (Seen: 640 on A100; 2560 on H100 80GB;
// 3072 on H100 NVL, H200 and GH200.)
inline unsigned remappable_banks(const GpuSpec& gpu) {
  const unsigned stacks = (gpu.memory_bus_bits + 1023) / 1024;
  return gpu.compute_capability_major == 8 ? 128 * stacks : gpu.compute_capability_major == 9 ? 512 * stacks : 0;
}

// ECC can be switched on boards with MIG; others here have none.
inline bool has_ecc(const GpuSpec& gpu) { return gpu.units > 0; }

// Remapped rows are not told while instances live on the GPU.
inline bool rows_are_hidden(const Target& target) { return target.mig_is_on() && target.summary.instance_count > 0; }

// Why the clock is not higher: NVML's nvmlClocksEventReason*.
unsigned long long clock_reasons(const Target& target, const GpuReadings& now);

}  // namespace partita::emulator::abi
