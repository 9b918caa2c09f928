// NVML's C interface: types, constants and prototypes under their own names, made at build time of data/nvml.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nvml_abi.inc"

namespace partita::emulator::abi {

using Return = nvmlReturn_t;

inline constexpr unsigned kNoInstance = 0xffffffff;  // in process lists: not in MIG

}  // namespace partita::emulator::abi

// Defines a function of the interface. generate.py looks for it at the beginning of a line.
#define NVML_EXPORT extern "C" ::partita::emulator::abi::Return
