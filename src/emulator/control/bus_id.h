// PCI bus ids in the spellings that people and tools use: "07:00.0", "0000:07:00.0", "00000000:07:00.0".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace partita::emulator {

// The driver's spelling, "00000000:07:00.0" (upper case digits), or nullopt when it is no bus id.
std::optional<std::string> normal_bus_id(std::string_view text);

}  // namespace partita::emulator
