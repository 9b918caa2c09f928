// A GPU's memory drawn to scale: placement units side by side, instances as cells over them.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/terminal.h"

namespace partita::cli {

struct BarCell {
  int start = 0, size = 0;         // placement units
  std::vector<std::string> texts;  // one per line, cut to fit
  Tone tone = Tone::plain;
};

// How wide a unit is drawn so that `units` fit beside `indent` blanks; all bars of a drawing share it.
int unit_width(const Look& look, int units, int indent);

// `lines` lines: |3g.20gb ...   |........:........|. Cells must not overlap; free units are dotted.
std::string draw_bar(const Look& look, int units, const std::vector<BarCell>& cells, int indent, std::size_t lines = 1);
// The same as a box with two text lines.
std::string draw_box(const Look& look, int units, const std::vector<BarCell>& cells, int indent);

}  // namespace partita::cli
