#include "base/csv.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

std::string error_of(std::string_view text, std::size_t max_rows = 100) {
  const auto table = parse_csv(text, "f.csv", max_rows);
  return table ? "no error" : table.error().message;
}

TEST(Csv, ReadsDescriptionHeaderAndRows) {
  const auto table =
      parse_csv("# a \"set\"\r\n# source: x\r\nname,n\r\n\r\na,1.5\r\n\"b, \"\"c\"\"\",\r\n#d,-2e3\r\n", "f.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->description, (std::vector<std::string>{"a \"set\"", "source: x"}));
  EXPECT_EQ(table->columns, (std::vector<std::string>{"name", "n"}));
  ASSERT_EQ(table->rows.size(), 3u);
  EXPECT_EQ(table->rows[1], (std::vector<std::string>{"b, \"c\"", ""}));
  EXPECT_EQ(table->rows[2][0], "#d") << "only lines before the header describe";
  EXPECT_EQ(table->lines, (std::vector<int>{5, 6, 7}));
  EXPECT_EQ(table->number(0, 1).value(), 1.5);
  EXPECT_EQ(table->number(1, 1).value(), std::nullopt);
  EXPECT_EQ(table->number(2, 1).value(), -2000);
  EXPECT_EQ(table->column("n"), 1u);
  EXPECT_EQ(table->column("m"), std::nullopt);
}

TEST(Csv, LastLineNeedsNoEndAndQuotedFieldsMayHoldLineEnds) {
  const auto table = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\n\"x\ny\",1\nz,2",
      "f.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->columns[0], "a");
  EXPECT_EQ(table->rows[0][0], "x\ny");
  EXPECT_EQ(table->rows[1], (std::vector<std::string>{"z", "2"}));
  EXPECT_EQ(table->lines, (std::vector<int>{2, 4}));
}

TEST(Csv, AnEmptyLastFieldIsAField) {
  const auto table = parse_csv("a,b\n1,", "f.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows[0], (std::vector<std::string>{"1", ""}));
}

TEST(Csv, ErrorsNameFileLineAndColumn) {
  EXPECT_EQ(error_of(""), "f.csv:1: expected a header row with column names, found none");
  EXPECT_EQ(error_of("a;b\n1;2,5\n"),
            "f.csv:2: expected 1 field as in the header, found 2; are the cells separated by commas?");
  EXPECT_EQ(error_of("a,b\n1\n"), "f.csv:2: expected 2 fields as in the header, found 1");
  EXPECT_EQ(error_of("a,a\n"), "f.csv:1: column \"a\" is there twice");
  EXPECT_EQ(error_of("a\n\"x\n"), "f.csv:2: a quote that is opened here is never closed");
  EXPECT_EQ(error_of("a\n\"x\"y\n"), "f.csv:2: text after a closing quote; expected \",\" or the line's end");
  EXPECT_EQ(error_of("a\nx\"y\n"),
            "f.csv:2: a quote inside \"x\"y\"; quote the whole field and double the quotes in it");
  EXPECT_EQ(error_of("a\n\n\xff\n"), "f.csv:3: not UTF-8 text");
  EXPECT_EQ(error_of("a\n1\n2\n", 1), "f.csv:3: more than 1 rows");
  const auto table = parse_csv("batch,ms\n1,fast\n2,inf\n", "f.csv");
  EXPECT_EQ(table->number(0, 1).error().message, "f.csv:2: column ms: expected a number, found \"fast\"");
  EXPECT_FALSE(table->number(1, 1));
  EXPECT_EQ(table->require("batchs").error().message,
            "f.csv: column \"batchs\" is missing; did you mean batch?; it has batch, ms");
}

}  // namespace
}  // namespace partita
