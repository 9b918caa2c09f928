#include "cli/draw/bar.h"

#include <algorithm>

namespace partita::cli {
namespace {

// The strokes of a drawing, in box-drawing characters or in ASCII.
struct Strokes {
  const char *wall, *tick, *dot, *line;
  const char *top_left, *top_join, *top_right, *bottom_left, *bottom_join, *bottom_right;
};
constexpr Strokes kBox = {"│", "╎", "·", "─", "┌", "┬", "┐", "└", "┴", "┘"};
constexpr Strokes kAscii = {"|", ":", ".", "-", "+", "+", "+", "+", "+", "+"};

const Strokes& strokes(const Look& look) { return look.unicode ? kBox : kAscii; }

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

const BarCell* cell_at(const std::vector<BarCell>& cells, int unit) {
  const auto found = std::ranges::find_if(
      cells, [&](const auto& cell) { return unit >= cell.start && unit < cell.start + cell.size; });
  return found == cells.end() ? nullptr : &*found;
}

// One text line of all cells; free units are filled with `free`.
std::string text_line(const Look& look, int units, const std::vector<BarCell>& cells, int wide, std::size_t line,
                      std::string_view free) {
  const auto& s = strokes(look);
  std::string out;
  const BarCell* before = nullptr;
  for (int unit = 0; unit < units;) {
    const auto* cell = cell_at(cells, unit);
    const bool inside_free = unit > 0 && !cell && !before;
    out += paint(look, Tone::faint, inside_free ? s.tick : s.wall);
    const int size = cell ? std::min(cell->size, units - cell->start) : 1;
    const int columns = size * wide - 1;
    if (cell)
      out += paint(look, cell->tone, padded(look, line < cell->texts.size() ? cell->texts[line] : "", columns));
    else
      out += paint(look, Tone::faint, repeat(free, columns));
    before = cell;
    unit += size;
  }
  return out + paint(look, Tone::faint, s.wall);
}

std::string edge(const Look& look, int units, const std::vector<BarCell>& cells, int wide, bool top) {
  const auto& s = strokes(look);
  std::string out;
  for (int unit = 0; unit <= units; ++unit) {
    const auto* cell = unit < units ? cell_at(cells, unit) : nullptr;
    const bool wall = unit == 0 || unit == units || !cell || cell->start == unit;
    if (unit == 0)
      out += top ? s.top_left : s.bottom_left;
    else if (unit == units)
      out += top ? s.top_right : s.bottom_right;
    else if (!wall)
      out += s.line;
    else if (!cell && !cell_at(cells, unit - 1))
      out += s.line;
    else
      out += top ? s.top_join : s.bottom_join;
    if (unit < units) out += repeat(s.line, wide - 1);
  }
  return paint(look, Tone::faint, out);
}

}  // namespace

int unit_width(const Look& look, int units, int indent) {
  constexpr int kNarrowest = 2, kWidestBar = 144;
  const int columns = std::min(look.width - indent - 1, kWidestBar);
  return std::max(kNarrowest, columns / std::max(1, units));
}

std::string draw_bar(const Look& look, int units, const std::vector<BarCell>& cells, int indent, std::size_t lines) {
  const int wide = unit_width(look, units, indent);
  std::string out;
  for (std::size_t line = 0; line < lines; ++line)
    out += repeat(" ", indent) + text_line(look, units, cells, wide, line, line == 0 ? strokes(look).dot : " ") + '\n';
  return out;
}

std::string draw_box(const Look& look, int units, const std::vector<BarCell>& cells, int indent) {
  const int wide = unit_width(look, units, indent);
  const auto margin = repeat(" ", indent);
  return margin + edge(look, units, cells, wide, true) + '\n' + draw_bar(look, units, cells, indent, 2) + margin +
         edge(look, units, cells, wide, false) + '\n';
}

}  // namespace partita::cli
