// Lengths of time as people write them: "90s", "2h30m", "1d12h".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace partita {

inline constexpr std::chrono::milliseconds kLongestDuration = std::chrono::days(36'500);

// Whole numbers with units d, h, m, s, ms, largest first, each at most once; up to 36500d. `invalid` otherwise.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// The shortest text that parse_duration() reads back: "2h30m", "0s", "1d12h", "250ms".
std::string to_string(std::chrono::milliseconds duration);

// "2026-11-30 14:05:00 UTC": whole seconds, rounded down.
std::string to_string(Time time);

}  // namespace partita
