#include "fleet/schedule/moment.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/duration.h"

namespace partita::fleet {

std::string seconds_word(double seconds) {
  auto out = fmt::format("{:.12g} s", seconds);
  if (seconds >= 3600 && seconds < 1e12)
    out += fmt::format(" ({})", to_string(std::chrono::seconds(static_cast<std::int64_t>(std::floor(seconds)))));
  return out;
}

}  // namespace partita::fleet
