// The documented columns of measured data, found under the names and in the units that people give them; the
// list of columns is in dataset.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"

namespace partita::predict {

// A header told apart: "Latency [s]" is latency_ms, 1000 of it in each.
struct KnownColumn {
  std::string_view name;  // documented
  double scale = 1;       // documented unit = scale * its unit
};
std::optional<KnownColumn> known_column(std::string_view header);
// "; did you mean latency_ms?", or "".
std::string nearest_column(std::string_view header);

// The table with documented headers, units and empty cells ("n/a", "-" and the like become ""). Columns that nobody
// knows are left out and named in `unused`; so is a second column of the same meaning.
CsvTable documented_columns(const CsvTable& table, std::vector<std::string>& unused);

}  // namespace partita::predict
