#include "report/words.h"

#include <gtest/gtest.h>

#include <limits>

namespace partita::report {
namespace {

TEST(Words, numbers) {
  const std::pair<double, const char*> cases[] = {{0, "0"},
                                                  {5, "5"},
                                                  {0.98765, "0.9877"},
                                                  {12.5, "12.5"},
                                                  {999.4, "999.4"},
                                                  {1000, "1,000"},
                                                  {12345.6, "12,346"},
                                                  {-1234567, "-1,234,567"},
                                                  {0.001234, "0.001234"},
                                                  {0.0000123, "1.23e-5"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(number_text(value), text);
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "∞");
}

TEST(Words, values_with_intervals) {
  EXPECT_EQ(value_text(std::nullopt), "–");
  EXPECT_EQ(value_text(Value{2, 1, 3}), "2 (1 – 3)");
  EXPECT_EQ(value_text(Value{2, std::nullopt, 3}), "2 (… – 3)");
}

TEST(Words, columns_of_numbers) {
  Table table;
  table.columns = {"profile", "images/s", "mixed", "empty"};
  table.kinds = {Kind::input, Kind::input, Kind::measured, Kind::input};
  table.rows = {{"1g.5gb", "≥ 1,250.5 (1,100 – 1,400)", "3", "–"}, {"7", "–", "none", ""}};
  EXPECT_FALSE(is_number_column(table, 0));
  EXPECT_TRUE(is_number_column(table, 1));
  EXPECT_FALSE(is_number_column(table, 2));
  EXPECT_FALSE(is_number_column(table, 3));
  EXPECT_EQ(column_origin(table, 1), "input");
  EXPECT_EQ(column_origin(table, 2), "measured");
  EXPECT_EQ(column_origin(table, 3), "");
}

TEST(Words, kinds_stand_in_titles_and_labels) {
  Figure figure;
  figure.title = "p99";
  EXPECT_EQ(figure_title(figure), "p99");
  figure.series = {{"", Kind::input, {}}, {"a", Kind::predicted, {}}, {"b", Kind::input, {}}};
  EXPECT_EQ(figure_title(figure), "p99 (input, predicted)");
  EXPECT_EQ(series_label(figure.series[0]), "input");
  EXPECT_EQ(series_label(figure.series[1]), "a (predicted)");
}

}  // namespace
}  // namespace partita::report
