#include "report/assets.h"

#include <algorithm>
#include <iterator>

namespace {

struct EmbeddedRow {
  std::string_view path;
  const char* begin;
  const char* end;
};

#include "report_assets_table.inc"

std::string_view asset(std::string_view path) {
  const auto* row = std::ranges::find(kRows, path, &EmbeddedRow::path);
  if (row == std::end(kRows)) return {};
  return {row->begin, static_cast<std::size_t>(row->end - row->begin)};
}

}  // namespace

namespace partita::report {

std::string_view page_script() { return asset("report.js"); }
std::string_view page_style() { return asset("report.css"); }

}  // namespace partita::report
