// Pieces of the page.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace partita::report {

// Text of unknown origin as HTML text or attribute value.
std::string escaped(std::string_view text);

// Where a part stands: report, section and part, counted from 0; the page's script finds the data by it.
struct Place {
  std::size_t report = 0, section = 0, part = 0;
};

std::string part_html(const Figure& figure, const Place& place);
std::string part_html(const Table& table, const Place& place);
std::string part_html(const Drawing& drawing, const Place& place);
// A table in a box that scrolls; `caption` for those who do not see it.
std::string grid_html(const Table& table, std::string_view caption);
std::string kind_html(std::string_view words);

}  // namespace partita::report
