// The GPUs that a command is about.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "emulator/programs/nvml.h"

namespace partita::emulator::programs {

struct Gpu {
  unsigned index = 0;
  NvmlDevice device{};
  std::string bus_id;  // "00000000:07:00.0"
};

struct Chosen {
  std::vector<Gpu> gpus;
  int answer = driver::kNvmlSuccess;  // of the last GPU that could not be opened; each was told on standard output
};

// Opens NVML; nvidia-smi's words and its exit status where that fails.
struct NoDriver {
  std::string text;
  int exit_status = 9;
};
std::expected<void, NoDriver> open_nvml();

// All, or those named. nullopt where a name fits none, which was told on standard output, too.
std::optional<Chosen> choose_gpus(const std::vector<std::string>& names);

// MIG devices of a GPU, by their index.
struct MigDevice {
  unsigned index = 0;
  NvmlDevice device{};
};
std::vector<MigDevice> mig_devices(const Gpu& gpu);

// Whether MIG is on; nullopt where the GPU has none.
struct MigMode {
  bool current = false, pending = false;
};
std::optional<MigMode> mig_mode(const Gpu& gpu);

}  // namespace partita::emulator::programs
