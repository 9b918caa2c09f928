#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"
#include "report/words.h"

namespace partita::report {
namespace {

bool is_word(std::string_view text, std::size_t at) {
  return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || (text[at] & 0x80) != 0);
}

// Text of unknown origin on one line, with nothing in it that Markdown or HTML would take as a mark.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool inside_word = at > 0 && is_word(text, at - 1) && is_word(text, at + 1);
    const bool opens_block = at == 0 && std::string_view("#-+>=").contains(c);
    if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
      continue;
    }
    if (std::string_view("\\*`[]<|~").contains(c) || opens_block || (c == '_' && !inside_word)) out += '\\';
    out += c;
  }
  return out;
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t size, bool right) {
  const std::string space(size - std::min(size, width(text)), ' ');
  return right ? space + text : text + space;
}

std::string grid(const Table& table) {
  if (table.columns.empty()) return "";
  std::vector<std::vector<std::string>> lines(1);
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const auto origin = column_origin(table, column);
    const std::string& name = table.columns[column];
    if (origin.empty())
      lines[0].push_back(plain(name));
    else
      lines[0].push_back(name.empty() ? std::string(origin) : fmt::format("{} ({})", plain(name), origin));
  }
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (std::size_t column = 0; column < table.columns.size(); ++column)
      line.push_back(column < row.size() ? plain(row[column]) : "");
  }
  std::vector<std::size_t> sizes(table.columns.size(), 3);
  for (const auto& line : lines)
    for (std::size_t column = 0; column < line.size(); ++column)
      sizes[column] = std::max(sizes[column], width(line[column]));

  std::string out;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    for (std::size_t column = 0; column < sizes.size(); ++column)
      out += fmt::format("| {} ", padded(lines[row][column], sizes[column], is_number_column(table, column)));
    out += "|\n";
    if (row > 0) continue;
    for (std::size_t column = 0; column < sizes.size(); ++column) {
      const bool right = is_number_column(table, column);
      out += fmt::format("|{}{}", std::string(sizes[column] + 1, '-'), right ? ":" : "-");
    }
    out += "|\n";
  }
  return out;
}

std::string part_text(const Figure& figure) {
  const Table numbers = table_of(figure);
  std::string out = fmt::format("**{}**", plain(figure_title(figure)));
  if (!numbers.title.empty()) out += fmt::format("  \n{}", plain(numbers.title));
  out += fmt::format("\n\n{}", grid(numbers));
  if (!figure.note.empty()) out += fmt::format("\n{}\n", plain(figure.note));
  return out;
}

std::string part_text(const Table& table) { return fmt::format("**{}**\n\n{}", plain(table.title), grid(table)); }

std::string part_text(const Drawing& drawing) {
  const Table blocks = table_of(drawing);
  std::string out = fmt::format("**{} ({})**", plain(drawing.title), kind_word(drawing.kind));
  if (!blocks.title.empty()) out += fmt::format("  \n{}", plain(blocks.title));
  out += fmt::format("\n\n{}", grid(blocks));
  if (!drawing.note.empty()) out += fmt::format("\n{}\n", plain(drawing.note));
  return out;
}

std::string section_text(const Section& section) {
  std::string out = fmt::format("\n## {}\n", plain(section.title));
  for (const std::string& paragraph : section.paragraphs) out += fmt::format("\n{}\n", plain(paragraph));
  for (const auto& part : section.parts) out += "\n" + std::visit([](const auto& one) { return part_text(one); }, part);
  return out;
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string out = fmt::format("# {}\n", plain(report.title));
  if (!report.question.empty()) out += fmt::format("\n**Question:** {}\n", plain(report.question));
  for (std::size_t at = 0; at < report.answer.size(); ++at)
    out += fmt::format("\n{}{}\n", at == 0 ? "**Answer:** " : "", plain(report.answer[at]));
  for (const std::string& warning : report.warnings) out += fmt::format("\n**Mind:** {}\n", plain(warning));
  for (const Section& section : report.sections) out += section_text(section);
  if (!report.rests_on.empty()) {
    out += "\n## Rests on\n\n";
    for (const std::string& line : report.rests_on) out += fmt::format("- {}\n", plain(line));
  }
  if (!report.command.empty()) out += fmt::format("\nMade by:\n\n    {}\n", one_line(report.command, 2000));
  return out;
}

}  // namespace partita::report
