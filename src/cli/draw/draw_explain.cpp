// plan --fleet --explain on a terminal.
#include "base/text.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/table.h"
#include "report/words.h"

namespace partita::cli {
namespace {

// Numbers go to the right; the last column is words.
bool is_right(const report::Table& table, std::size_t column) {
  return column > 0 && column + 1 < table.columns.size() && report::is_number_column(table, column);
}

std::string draw(const Look& look, const report::Table& from) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < from.columns.size(); ++i) columns.push_back({from.columns[i], is_right(from, i)});
  Table table(std::move(columns));
  for (const auto& row : from.rows) {
    std::vector<Cell> cells;
    for (const auto& text : row) cells.push_back({printable(text)});
    table.add(std::move(cells));
  }
  return '\n' + paint(look, Tone::strong, lower(from.title.substr(0, 1)) + from.title.substr(1) + ":") + '\n' +
         table.draw(look);
}

std::string draw(const Look& look, const Explained& explained) {
  std::string out;
  for (const auto& line : explained.lines) out += printable(line) + '\n';
  for (const auto& table : explained.tables) out += draw(look, table);
  return out;
}

}  // namespace

std::string draw_explanation(const Look& look, const FleetAnswer& answer) { return draw(look, explained(answer)); }

std::string draw_timed_explanation(const Look& look, const FleetAnswer& answer) {
  std::string out;
  for (const auto& part : {explained_leases(answer), explained_jobs(answer)})
    if (!part.lines.empty()) out += '\n' + draw(look, part);
  return out;
}

}  // namespace partita::cli
