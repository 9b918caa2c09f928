// What nvidia-smi changes about whole GPUs: MIG mode, persistence mode, reset. Each prints as NVIDIA's program and
// returns the exit status.
#pragma once

#include "emulator/programs/arguments.h"
#include "emulator/programs/gpus.h"

namespace partita::emulator::programs {

int run_mig_mode(const Arguments& arguments);
int run_persistence(const Arguments& arguments);
// Not through NVML, which has no reset: through the state of the node that PARTITA_EMULATED_NODE names.
int run_reset(const Arguments& arguments);

}  // namespace partita::emulator::programs
