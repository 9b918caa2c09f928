// Who an emulated GPU is: fixed for a node name and an index, so that a node started again has the same UUIDs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace partita::emulator {

struct Identity {
  std::string uuid;       // "GPU-..." of version 4 shape
  std::uint64_t pdi = 0;  // per-device identifier, from which MIG UUIDs are made
  std::string serial;     // 13 digits
};

Identity identity(std::string_view node, int index);

// The driver's chip number (architecture << 4 | implementation): GA100 0x170. 0 when the chip is not known.
std::uint16_t chip_id(std::string_view chip);

}  // namespace partita::emulator
