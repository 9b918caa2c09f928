#include "base/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/text.h"

namespace partita {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array kUnits{Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1000},
                            Unit{"ms", 1}};

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::invalid,
                fmt::format("{} is no duration{}; expected one like 90s, 2h30m or 1d12h", quote(text), why));
  };
  std::string_view rest = trim(text);
  if (rest.empty()) return wrong("");
  std::int64_t sum = 0;
  std::size_t next = 0;  // units before it have been used, or were passed by
  while (!rest.empty()) {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (status == std::errc::result_out_of_range) return wrong(": longer than 36500d");
    if (status != std::errc{} || number < 0) return wrong("");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const std::string_view name = rest.substr(0, std::min(rest.find_first_not_of("dhms"), rest.size()));
    if (name.empty()) return wrong(": a number needs its unit (d, h, m, s, ms)");
    while (next < kUnits.size() && kUnits[next].name != name) ++next;
    if (next == kUnits.size()) return wrong(": units are d, h, m, s, ms, the largest first");
    if (number > (kLongestDuration.count() - sum) / kUnits[next].milliseconds) return wrong(": longer than 36500d");
    sum += number * kUnits[next++].milliseconds;
    rest.remove_prefix(name.size());
  }
  return std::chrono::milliseconds(sum);
}

std::string to_string(std::chrono::milliseconds duration) {
  std::string out;
  std::int64_t left = duration.count();
  if (left < 0) return "-" + to_string(std::chrono::milliseconds(-std::max(left, -INT64_MAX)));
  for (const Unit& unit : kUnits) {
    if (left < unit.milliseconds) continue;
    out += fmt::format("{}{}", left / unit.milliseconds, unit.name);
    left %= unit.milliseconds;
  }
  return out.empty() ? "0s" : out;
}

std::string to_string(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace partita
