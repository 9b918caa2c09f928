// NVML's return numbers, those that the emulated driver gives.
#pragma once

namespace partita::emulator {

enum NvmlReturn : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kInsufficientResources = 23,
  kVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kInvalidState = 29,
  kUnknown = 999,
};

}  // namespace partita::emulator
