// Drawings as HTML boxes placed in percent: they fit any width, their letters keep their size, and no script is needed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/words.h"

namespace partita::report {
namespace {

using Look = Drawing::Look;

constexpr double kAll = 100;  // percent

std::string look_class(const Look& look) {
  switch (look.fill) {
    case Look::Fill::colour:
      return fmt::format("l{}", look.colour % 8);
    case Look::Fill::hatched:
      return "hatched";
    case Look::Fill::outline:
      return "outline";
    case Look::Fill::solid:
      return "solid";
  }
  return "outline";
}

std::string legend_html(const Drawing& drawing) {
  if (drawing.looks.empty()) return "";
  std::string out = "<ul class=\"legend\">";
  for (const auto& look : drawing.looks)
    out +=
        fmt::format("<li><span class=\"swatch {}\"></span><span>{}</span></li>", look_class(look), escaped(look.name));
  return out + "</ul>\n";
}

double share(double value, double of) { return of > 0 ? kAll * value / of : 0; }

std::string text_html(const Drawing::Block& block) {
  std::string out;
  if (block.brief.empty())
    out = fmt::format("<b>{}</b>", escaped(block.text));
  else
    out = fmt::format("<b class=\"full\">{}</b><b class=\"brief\">{}</b>", escaped(block.text), escaped(block.brief));
  if (!block.below.empty()) out += fmt::format("<span>{}</span>", escaped(block.below));
  return out;
}

std::string block_html(const Drawing& drawing, const Drawing::Row& row, const Drawing::Block& block) {
  const auto number = static_cast<std::size_t>(block.look);
  const auto look = number < drawing.looks.size() ? drawing.looks[number] : Look{"", Look::Fill::outline, 0};
  return fmt::format(
      "<div class=\"block {}\" style=\"left:{:.4g}%;width:{:.4g}%;top:{:.4g}%;height:{:.4g}%\" title=\"{}\">{}</div>",
      look_class(look), share(block.from, drawing.length), share(block.until - block.from, drawing.length),
      share(block.top, row.lanes), share(block.height, row.lanes),
      escaped(block.detail.empty() ? block.text : block.detail), text_html(block));
}

std::string row_html(const Drawing& drawing, const Drawing::Row& row) {
  std::string out = fmt::format("<div class=\"row\"><div class=\"row-name\"><b>{}</b>", escaped(row.name));
  if (!row.note.empty()) out += fmt::format("<span>{}</span>", escaped(row.note));
  out += fmt::format("</div><div class=\"{}\" style=\"--lanes:{};--step:{:.4g}%\">",
                     row.lanes > 1 ? "bar lanes" : "bar", row.lanes, share(drawing.step, drawing.length));
  for (const auto& block : row.blocks) out += block_html(drawing, row, block);
  return out + "</div></div>\n";
}

// Marks and their numbers; the last one not beyond the end.
std::string axis_html(const Drawing& drawing) {
  std::string out = "<div class=\"row axis\"><div class=\"row-name\"></div><div class=\"marks\">";
  constexpr double kMostMarks = 64;
  const double marks = drawing.step > 0 ? std::min(kMostMarks, std::floor((drawing.length / drawing.step) + 1e-9)) : 0;
  for (int i = 0; i <= static_cast<int>(marks); ++i)
    out += fmt::format("<span style=\"left:{:.4g}%\">{}</span>", share(i * drawing.step, drawing.length),
                       number_text(i * drawing.step));
  return out + fmt::format("<em>{}</em></div></div>\n", escaped(drawing.scale));
}

}  // namespace

std::string part_html(const Drawing& drawing, const Place& /*place*/) {
  const Table blocks = table_of(drawing);
  std::string out = fmt::format("<figure class=\"drawing\">\n<figcaption>{}{}</figcaption>\n{}", escaped(drawing.title),
                                kind_html(kind_word(drawing.kind)), legend_html(drawing));
  out += "<div class=\"rows\" aria-hidden=\"true\">\n";
  for (const auto& row : drawing.rows) out += row_html(drawing, row);
  out += axis_html(drawing) + "</div>\n";
  if (!drawing.note.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(drawing.note));
  out += "<details><summary>The same as a table</summary>\n";
  if (!blocks.title.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(blocks.title));
  return out + grid_html(blocks, "the blocks of: " + drawing.title) + "</details>\n</figure>\n";
}

}  // namespace partita::report
