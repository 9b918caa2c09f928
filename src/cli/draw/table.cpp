#include "cli/draw/table.h"

#include <algorithm>
#include <numeric>

namespace partita::cli {
namespace {

constexpr int kGap = 2;

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

}  // namespace

std::vector<int> Table::widths() const {
  std::vector<int> out;
  for (const auto& column : columns_) out.push_back(width_of(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.cells.size() && i < out.size(); ++i)
      out[i] = std::max(out[i], width_of(row.cells[i].text));
  return out;
}

std::string Table::draw(const Look& look, int indent) const {
  const auto wide = widths();
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string out = blanks(indent);
    int column = indent, owed = 0;  // blanks are written when text follows, so that no line ends with one
    for (std::size_t i = 0; i < cells.size() && i < wide.size(); ++i) {
      const bool last = i + 1 == wide.size();
      auto text = last && look.terminal ? fitted(look, cells[i].text, std::max(8, look.width - column)) : cells[i].text;
      const int spare = std::max(0, wide[i] - width_of(text));
      if (columns_[i].right) owed += spare;
      if (!text.empty()) {
        out += blanks(owed) + paint(look, cells[i].tone, text);
        owed = 0;
      }
      if (!columns_[i].right) owed += spare;
      owed += kGap;
      column += wide[i] + kGap;
    }
    return out + '\n';
  };
  std::string out;
  std::vector<Cell> titles;
  for (const auto& column : columns_) titles.push_back({column.title, Tone::faint});
  if (std::ranges::any_of(columns_, [](const auto& column) { return !column.title.empty(); })) out += line(titles);
  for (const auto& row : rows_) {
    if (!row.cells.empty()) {
      out += line(row.cells);
      continue;
    }
    const auto start =
        std::accumulate(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(std::min(row.under, wide.size())),
                        indent + kGap * static_cast<int>(row.under));
    out += blanks(start) + paint(look, row.note.tone, row.note.text) + '\n';
  }
  return out;
}

}  // namespace partita::cli
