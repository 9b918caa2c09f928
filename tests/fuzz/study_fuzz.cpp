// Any bytes as a study: an answer in words with well-formed tables and figures, or an error.
#include <variant>

#include "base/progress.h"
#include "fuzz.h"
#include "study/runner.h"

using namespace partita;

namespace {

void check(const report::Table& table) {
  fuzz::require(table.kinds.size() == table.columns.size(), "each column of a table says what kind it is");
  for (const auto& row : table.rows) fuzz::require(row.size() == table.columns.size(), "a row has all columns");
}
void check(const report::Figure& figure) {
  for (const auto& series : figure.series)
    fuzz::require(series.values.size() == figure.x.size(), "a series has a value or a gap for each x");
}
void check(const report::Drawing& drawing) {
  for (const auto& row : drawing.rows)
    for (const auto& block : row.blocks) {
      fuzz::require(block.from <= block.until && block.until <= drawing.length, "a block lies within its row");
      fuzz::require(block.top + block.height <= row.lanes, "a block lies on lanes of its row");
      fuzz::require(static_cast<std::size_t>(block.look) < drawing.looks.size(), "a block has a look");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto catalog = catalog::Catalog::open().value();
  study::StudyOptions options;
  options.most_events = 20'000;
  SilentProgress progress;
  const auto report = study::run_study(fuzz::text_of(data, size), "f", catalog, options, progress);
  if (!fuzz::accepted(report)) return 0;
  fuzz::require(!report->answer.empty(), "a study has an answer");
  for (const auto& section : report->sections)
    for (const auto& part : section.parts) std::visit([](const auto& p) { check(p); }, part);
  fuzz::require(!report::to_html(*report).empty() && !report::to_json(*report).empty(), "a report is written");
  return 0;
}
