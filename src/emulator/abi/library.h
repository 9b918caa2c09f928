// The library's one state per process, which NVML's interface demands: how often it was initialised and the node it
// looks at. Engines stay mapped for the life of the process, so a thread that calls while another shuts down never
// reads unmapped memory.
#pragma once

#include <string>

#include "emulator/engine/engine.h"

namespace partita::emulator::abi {

// Opens the node that PARTITA_EMULATED_NODE names. kDriverNotLoaded: unset, or no node there; kVersionMismatch is not
// among the answers of nvmlInit, so a state of another format is 18 (driver and library differ).
NvmlReturn initialise();
NvmlReturn shut_down();

// nullptr before initialise() and after the last shut_down(). No lock.
Engine* current_engine();

// Why the last initialise() failed; "" when it did not.
std::string last_error();

}  // namespace partita::emulator::abi
