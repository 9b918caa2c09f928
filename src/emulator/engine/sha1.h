// SHA-1 (FIPS 180-4), for the driver's UUID algorithm only; not for security.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace partita::emulator {

std::array<std::uint8_t, 20> sha1(std::string_view bytes);

}  // namespace partita::emulator
