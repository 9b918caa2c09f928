#include "base/error.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

// What scripts rely on: the words and the exit statuses of the manual.
TEST(ErrorCode, WordsAndExitStatuses) {
  struct Row {
    ErrorCode code;
    std::string_view word;
    int exit;
  };
  const Row rows[] = {
      {ErrorCode::differs, "differs", 1},         {ErrorCode::invalid, "invalid", 2},
      {ErrorCode::not_found, "not_found", 2},     {ErrorCode::no_space, "no_space", 3},
      {ErrorCode::impossible, "impossible", 3},   {ErrorCode::busy, "busy", 4},
      {ErrorCode::denied, "denied", 5},           {ErrorCode::driver, "driver", 6},
      {ErrorCode::unavailable, "unavailable", 7}, {ErrorCode::internal, "internal", 70},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(name(row.code), row.word);
    EXPECT_EQ(exit_status(row.code), row.exit) << row.word;
  }
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::invalid, "odd", {"a detail"});
  return n / 2;
}
Result<std::string> quarter(int n) {
  const int halved = TRY(half(n));
  return std::to_string(TRY(half(halved)));
}

TEST(Try, PassesValuesOnAndReturnsErrorsWhole) {
  EXPECT_EQ(quarter(8).value_or(""), "2");
  const auto odd = quarter(6);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, ErrorCode::invalid);
  EXPECT_EQ(odd.error().details, std::vector<std::string>{"a detail"});
}

TEST(InContext, NamesThePlaceFirst) {
  const Error error = in_context("GPU 3", Error{ErrorCode::busy, "in use", {"pid 1"}});
  EXPECT_EQ(error.message, "GPU 3: in use");
  EXPECT_EQ(error.code, ErrorCode::busy);
  EXPECT_EQ(error.details.size(), 1U);
}

}  // namespace
}  // namespace partita
