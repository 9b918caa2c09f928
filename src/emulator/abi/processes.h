#pragma once

#include <vector>

#include "emulator/abi/guard.h"

namespace partita::emulator::abi {

// Holders of the GPU, or of the MIG device, whose processes live.
std::vector<HolderRecord> live_holders(const Target& target);

}  // namespace partita::emulator::abi
