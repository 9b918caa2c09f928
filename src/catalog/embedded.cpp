#include "catalog/embedded.h"

#include <algorithm>
#include <iterator>

namespace {

struct EmbeddedRow {
  std::string_view path;
  const char* begin;
  const char* end;
};

#include "embedded_data_table.inc"

}  // namespace

namespace partita::catalog {

std::optional<std::string_view> embedded_file(std::string_view path) {
  const auto* row = std::ranges::lower_bound(kRows, path, {}, &EmbeddedRow::path);
  if (row == std::end(kRows) || row->path != path) return std::nullopt;
  return std::string_view(row->begin, static_cast<std::size_t>(row->end - row->begin));
}

std::vector<std::string_view> embedded_files(std::string_view prefix) {
  std::vector<std::string_view> out;
  for (const EmbeddedRow& row : kRows)
    if (row.path.starts_with(prefix)) out.push_back(row.path);
  return out;
}

}  // namespace partita::catalog
