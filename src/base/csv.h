// Comma-separated tables with a header row, as data/measured keeps them: lines that begin with "#" before the header
// are the table's description. Quoted fields ("a,b", "" for a quote) are read. Text in, rows out, bounded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita {

struct CsvTable {
  std::string file;                      // as shown in errors
  std::vector<std::string> description;  // the "#" lines, without "# "
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
  std::vector<int> lines;                      // 1-based line of each row

  std::optional<std::size_t> column(std::string_view name) const;
  // The column's index; `invalid` names the file and the columns it has.
  Result<std::size_t> require(std::string_view name) const;
  // A cell as a finite number; `invalid` names file, line and column. Empty cells are nullopt.
  Result<std::optional<double>> number(std::size_t row, std::size_t column) const;
};

// `invalid` names file and line: rows of the wrong length, open quotes, text that is not UTF-8, more than `max_rows`,
// or than 4096 columns.
Result<CsvTable> parse_csv(std::string_view text, std::string file, std::size_t max_rows = 2'000'000);

// Row by row, for long tables: `visit` gets the table with this row alone. What it returns first as an error ends it.
using CsvVisitor = std::function<Result<void>(const CsvTable&)>;
Result<void> visit_csv(std::string_view text, std::string file, const CsvVisitor& visit,
                       std::size_t max_rows = 2'000'000);

}  // namespace partita
