// Amounts of memory. A type of its own, so that MiB and bytes are never mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace partita {

struct Bytes {
  std::uint64_t value = 0;
  auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes mib(std::uint64_t n) { return Bytes{n << 20}; }
constexpr Bytes gib(std::uint64_t n) { return Bytes{n << 30}; }

// MiB, rounded down.
constexpr std::uint64_t in_mib(Bytes b) { return b.value >> 20; }
constexpr double in_gib(Bytes b) { return static_cast<double>(b.value) / (1024.0 * 1024.0 * 1024.0); }

// "4.75 GiB", "512 MiB".
std::string to_string(Bytes bytes);

// Reads "2GiB", "512 MiB", "4.5GiB", "1024" (bytes), "5GB" (10^9). Error `invalid` otherwise, also on overflow.
Result<Bytes> parse_bytes(std::string_view text);

}  // namespace partita
