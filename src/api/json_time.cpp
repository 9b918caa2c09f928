// Points in time as text: RFC 3339, UTC, milliseconds.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "api/json_parts.h"

namespace partita::api {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;

// The number written in text[at, at + digits), or -1.
int digits_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return -1;
  int out = 0;
  for (const char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return -1;
    out = out * 10 + (c - '0');
  }
  return out;
}

}  // namespace

std::string time_text(Time time) {
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<Time> time_of(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00.000Z";
  if (text.size() != kShape.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kShape[i] != '0' && text[i] != kShape[i]) return std::nullopt;
  const int year = digits_at(text, 0, 4), month = digits_at(text, 5, 2), day = digits_at(text, 8, 2);
  const int hour = digits_at(text, 11, 2), minute = digits_at(text, 14, 2), second = digits_at(text, 17, 2);
  const int milli = digits_at(text, 20, 3);
  if (year < 0 || month < 0 || day < 0 || milli < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 59)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + milliseconds(milli);
}

Json time_or_null(const std::optional<Time>& time) { return time ? Json(time_text(*time)) : Json(nullptr); }

}  // namespace partita::api
