// NVLink as the node's spec tells it.
#pragma once

#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

// Links of the GPU; those that join it to other GPUs of its reset group, or to a switch that all such GPUs hang on.
unsigned nvlink_count(const Target& target);
bool nvlink_joins(const Target& target, int other);
// NVML_NVLINK_VERSION_*, by architecture.
unsigned nvlink_version(const GpuSpec& gpu);
// Of one link in one direction, MB/s.
unsigned nvlink_mb_per_s(const GpuSpec& gpu);
// Does a fabric manager run, as on Hopper and later with switches?
bool has_fabric(const Target& target);

}  // namespace partita::emulator::abi
