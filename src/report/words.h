// The words and numbers of a report, the same in every format; web/src/numbers.js holds the same rules for the figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace partita::report {

std::string_view kind_word(Kind kind);  // "simulated"

// Four significant digits below 1000, whole numbers with thousands separators above: "0.1235", "12,346".
std::string number_text(double value);
// "123.4 (110 – 140)"; "–" where there is no value.
std::string value_text(const std::optional<Value>& value);

// "vGPU (simulated)"; the kind alone where the series has no name.
std::string series_label(const Series& series);
// Each kind in the figure once, in order of the series.
std::vector<Kind> kinds_of(const Figure& figure);
// "Throughput per profile (simulated, measured)".
std::string figure_title(const Figure& figure);

// True where a column holds numbers and nothing else but gaps: it is set to the right.
bool is_number_column(const Table& table, std::size_t column);
// How the numbers of a column came about: "" for a column of names.
std::string_view column_origin(const Table& table, std::size_t column);

// The numbers of a figure as a table; a figure of more than 200 points is thinned, and the title says so.
Table table_of(const Figure& figure);
// A row per block; at most 400, and the title says so.
Table table_of(const Drawing& drawing);

}  // namespace partita::report
