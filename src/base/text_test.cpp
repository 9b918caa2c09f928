#include "base/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/units.h"

namespace partita {
namespace {

TEST(Text, NearestWordsAreOfferedAndStrangersAreNot) {
  const std::vector<std::string> boards = {"a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "a30-24gb"};
  EXPECT_EQ(nearest("a100-sxm4-40g", boards).front(), "a100-sxm4-40gb");
  EXPECT_EQ(nearest("a100", boards, 2), (std::vector<std::string>{"a100-sxm4-40gb", "a100-sxm4-80gb"}));
  EXPECT_TRUE(nearest("completely different", boards).empty());
  EXPECT_EQ(did_you_mean("a30-24", boards).substr(0, 24), "; did you mean a30-24gb?");
  EXPECT_TRUE(nearest(std::string(100000, 'a'), boards).empty());
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(trim("  x y \n"), "x y");
}

TEST(Text, CountsHavePlurals) {
  EXPECT_EQ(count_of(1, "process"), "1 process");
  EXPECT_EQ(count_of(2, "process"), "2 processes");
  EXPECT_EQ(count_of(0, "GPU"), "0 GPUs");
}

TEST(Text, JoinUndoesSplit) {
  for (const std::string text : {"a,b", ",a", ",,", "a,", "", "a"}) EXPECT_EQ(join(split(text, ','), ","), text);
}

TEST(Units, MemoryIsReadWithItsUnit) {
  EXPECT_EQ(parse_bytes("2GiB")->value, gib(2).value);
  EXPECT_EQ(parse_bytes(" 512 MiB ")->value, mib(512).value);
  EXPECT_EQ(parse_bytes("4.5GiB")->value, mib(4608).value);
  EXPECT_EQ(parse_bytes("5GB")->value, 5'000'000'000u);
  for (const char* wrong : {"", "GiB", "-1GiB", "1e3GiB", "nan", "inf", "99999999999TiB", "1 GiB x", "0x10"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(TextTest, ShellWordsAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(shell_word("data/trace-1.csv"), "data/trace-1.csv");
  EXPECT_EQ(shell_word("my trace.csv"), "'my trace.csv'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail(ErrorCode::invalid, "odd");
  return n / 2;
}
Result<int> quarter(int n) { return half(TRY(half(n))); }

TEST(ErrorTest, TryPassesValuesOnAndErrorsUp) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(in_context("here", quarter(6).error()).message, "here: odd");
}

}  // namespace
}  // namespace partita
