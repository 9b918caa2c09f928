#include "base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace partita {

std::string to_string(Bytes bytes) {
  if (bytes.value >= gib(1).value) return fmt::format("{:.2f} GiB", in_gib(bytes));
  if (bytes.value >= mib(1).value) return fmt::format("{} MiB", in_mib(bytes));
  return fmt::format("{} bytes", bytes.value);
}

Result<Bytes> parse_bytes(std::string_view text) {
  const std::string_view trimmed = trim(text);
  const auto wrong = [&] {
    return fail(ErrorCode::invalid,
                fmt::format("{} is no amount of memory; expected a number with a unit, such as 2GiB, 512MiB or 5GB",
                            quote(text)));
  };
  double number = 0;
  const auto [end, status] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number, std::chars_format::fixed);
  if (status != std::errc{} || !std::isfinite(number) || number < 0) return wrong();
  const std::string unit = lower(trim(trimmed.substr(static_cast<std::size_t>(end - trimmed.data()))));
  double factor = 0;
  if (unit.empty() || unit == "b")
    factor = 1;
  else if (unit == "kib" || unit == "ki")
    factor = 1024.0;
  else if (unit == "mib" || unit == "mi")
    factor = 1024.0 * 1024;
  else if (unit == "gib" || unit == "gi")
    factor = 1024.0 * 1024 * 1024;
  else if (unit == "tib" || unit == "ti")
    factor = 1024.0 * 1024 * 1024 * 1024;
  else if (unit == "kb")
    factor = 1e3;
  else if (unit == "mb")
    factor = 1e6;
  else if (unit == "gb")
    factor = 1e9;
  else if (unit == "tb")
    factor = 1e12;
  else
    return wrong();
  const double value = number * factor;
  if (value >= 9e18) return wrong();
  return Bytes{static_cast<std::uint64_t>(std::llround(value))};
}

}  // namespace partita
