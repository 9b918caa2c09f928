// Any bytes as measured data, after a first line of any bytes as a mapping: rows with finite figures, or one clear
// error.
#include <cmath>

#include "base/csv.h"
#include "fuzz.h"
#include "predict/dataset.h"

namespace {

void check(const partita::predict::DataSet& set) {
  for (const auto& row : set.rows) {
    partita::fuzz::require(row.line > 0 && row.settings.batch >= 1 && row.settings.processes >= 1, "counts are counts");
    if (row.step_ms) partita::fuzz::require(std::isfinite(*row.step_ms) && *row.step_ms > 0, "times are times");
    if (row.throughput)
      partita::fuzz::require(std::isfinite(*row.throughput) && *row.throughput > 0, "rates are rates");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = partita::fuzz::text_of(data, size);
  const auto end = text.find('\n');
  const auto table = partita::parse_csv(end == std::string_view::npos ? "" : text.substr(end + 1), "f.csv", 1000);
  if (!partita::fuzz::accepted(table)) return 0;
  const auto set = partita::predict::read_measurements(*table, "f", {{"board", "a30"}});
  if (partita::fuzz::accepted(set)) check(*set);
  const auto mapping = partita::predict::read_own_mapping(text.substr(0, end), "m.yaml");
  if (!partita::fuzz::accepted(mapping)) return 0;
  const auto mapped = partita::predict::apply_mapping(*mapping, *table);
  if (!partita::fuzz::accepted(mapped)) return 0;
  const auto again = partita::predict::read_measurements(*mapped, "f");
  if (partita::fuzz::accepted(again)) check(*again);
  return 0;
}
