#include "cli/draw/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace partita::cli {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const auto value = variable(name); !value.empty()) {
      const auto lowered = lower(value);
      return lowered.find("utf-8") != std::string::npos || lowered.find("utf8") != std::string::npos;
    }
  return false;
}

int width(int descriptor) {
  constexpr int kNarrowest = 40, kWidest = 1000, kUsual = 80;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, kNarrowest, kWidest);
  const int columns = std::atoi(std::string(variable("COLUMNS")).c_str());
  return columns > 0 ? std::clamp(columns, kNarrowest, kWidest) : kUsual;
}

const char* escape(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "\033[1m";
    case Tone::faint:
      return "\033[2m";
    case Tone::busy:
      return "\033[1;33m";
    case Tone::leased:
      return "\033[1;34m";
    case Tone::foreign:
      return "\033[35m";
    case Tone::idle:
      return "\033[36m";
    case Tone::good:
      return "\033[32m";
    case Tone::warning:
      return "\033[33m";
    case Tone::bad:
      return "\033[1;31m";
  }
  return "";
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length of the UTF-8 character at the front, or 0 when it is none (or a control character).
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x20 || first == 0x7F) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) return 0;
  if (!std::ranges::all_of(text.substr(1, length - 1), continues)) return 0;
  if (first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) return 0;  // C1 controls
  return length;
}

}  // namespace

Look look_of(int descriptor, bool no_colour) {
  Look look;
  look.terminal = isatty(descriptor) == 1;
  look.width = width(descriptor);
  look.colour = look.terminal && !no_colour && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  look.unicode = utf8_locale();
  return look;
}

std::string paint(const Look& look, Tone tone, std::string_view text) {
  if (!look.colour || tone == Tone::plain || text.empty()) return std::string(text);
  return std::string(escape(tone)) + std::string(text) + "\033[0m";
}

int width_of(std::string_view text) {
  return static_cast<int>(std::ranges::count_if(text, [](char c) { return !continues(c); }));
}

std::string fitted(const Look& look, std::string_view text, int columns) {
  if (width_of(text) <= columns) return std::string(text);
  if (columns <= 0) return {};
  std::size_t end = 0;
  for (int kept = 0; end < text.size(); ++end)
    if (!continues(text[end]) && kept++ == columns - 1) break;
  return std::string(text.substr(0, end)) + (look.unicode ? "…" : "~");
}

std::string padded(const Look& look, std::string_view text, int columns) {
  auto out = fitted(look, text, columns);
  out.append(static_cast<std::size_t>(std::max(0, columns - width_of(out))), ' ');
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length = character_length(text);
    if (length == 0)
      out += '?';
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string wrapped(std::string_view text, int columns, int indent, int first) {
  std::string out;
  int column = first;
  bool line_begins = true;
  for (const auto& word : split(text, ' ')) {
    const int length = width_of(word);
    if (!line_begins && column + 1 + length > columns) {
      out += '\n' + std::string(static_cast<std::size_t>(indent), ' ');
      column = indent;
    } else if (!line_begins) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
    line_begins = false;
  }
  return out;
}

}  // namespace partita::cli
