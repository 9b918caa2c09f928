#pragma once

#include "emulator/engine/spec.h"

namespace partita::emulator::abi {

inline constexpr unsigned kPcieLanes = 16;
unsigned pcie_generation(const GpuSpec& gpu);
// Of the whole link in one direction.
unsigned pcie_mb_per_s(const GpuSpec& gpu);

}  // namespace partita::emulator::abi
