// Where the output goes and how it may look there.
#pragma once

#include <string>
#include <string_view>

namespace partita::cli {

struct Look {
  int width = 80;
  bool colour = false;
  bool unicode = false;   // box-drawing characters
  bool terminal = false;  // a person watches
};

// How `descriptor` (1 or 2) looks: terminal or not, its width (COLUMNS where it is none), colour by NO_COLOR and
// --no-color, UTF-8 by the locale's variables.
Look look_of(int descriptor, bool no_colour);

// What a piece of text means; becomes a colour where colours are.
enum class Tone { plain, strong, faint, busy, leased, foreign, idle, good, warning, bad };

std::string paint(const Look& look, Tone tone, std::string_view text);

// How many columns a text takes: its characters, each one wide.
int width_of(std::string_view text);
// At most `columns` wide, shortened at the end with an ellipsis.
std::string fitted(const Look& look, std::string_view text, int columns);
// fitted, then filled up with blanks.
std::string padded(const Look& look, std::string_view text, int columns);
// Control characters and what is not UTF-8 become '?': names of processes and files are anyone's to choose.
std::string printable(std::string_view text);
// Lines of at most `columns`, broken between words; the first begins at column `first`, which is written already, each
// further one with `indent` blanks.
std::string wrapped(std::string_view text, int columns, int indent, int first = 0);

}  // namespace partita::cli
