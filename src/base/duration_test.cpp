#include "base/duration.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

using namespace std::chrono_literals;

TEST(Duration, Reads) {
  EXPECT_EQ(parse_duration("90s").value(), 90s);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(parse_duration(" 2h30m ").value(), 150min);
  EXPECT_EQ(parse_duration("1d12h").value(), 36h);
  EXPECT_EQ(parse_duration("1m5ms").value(), 60'005ms);
  EXPECT_EQ(parse_duration("0s").value(), 0s);
  EXPECT_EQ(parse_duration("36500d").value(), kLongestDuration);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text : {"", "2", "h", "-2h", "2x", "2h 30m", "30m2h", "2h2h", "1.5h", "36500d1ms",
                           "99999999999999999999s", "9223372036854775807d", "5mss", "2H", "2h30"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::invalid);
    EXPECT_NE(result.error().message.find("2h30m"), std::string::npos) << result.error().message;
  }
  EXPECT_EQ(parse_duration("2h30").error().message,
            "\"2h30\" is no duration: a number needs its unit (d, h, m, s, ms); expected one like 90s, 2h30m or 1d12h");
}

TEST(Duration, PrintsWhatItReads) {
  for (const char* text : {"90s", "2h30m", "1d12h", "250ms", "0s", "1d1h1m1s1ms"}) {
    const auto value = parse_duration(text).value();
    EXPECT_EQ(parse_duration(to_string(value)).value(), value);
  }
  EXPECT_EQ(to_string(std::chrono::milliseconds(90s)), "1m30s");
  EXPECT_EQ(to_string(std::chrono::milliseconds(-90s)), "-1m30s");
}

TEST(Duration, TimesAreInUtc) {
  EXPECT_EQ(to_string(Time{}), "1970-01-01 00:00:00 UTC");
  EXPECT_EQ(to_string(Time{} + 1'796'047'500s + 999ms), "2026-11-30 14:05:00 UTC");
}

}  // namespace
}  // namespace partita
