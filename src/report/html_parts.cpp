#include "report/html_parts.h"

#include <fmt/format.h>

#include "report/words.h"

namespace partita::report {
namespace {

std::string head_html(const Table& table) {
  std::string out = "<thead><tr>";
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    out += fmt::format("<th scope=\"col\"{}>{}{}</th>", is_number_column(table, column) ? " class=\"number\"" : "",
                       escaped(table.columns[column]), kind_html(column_origin(table, column)));
  return out + "</tr></thead>\n";
}

constexpr std::size_t kShortName = 40;  // bytes; a longer one may be broken over lines

std::string cell_html(const Table& table, std::size_t column, const std::string& text) {
  const bool number = is_number_column(table, column);
  if (column > 0) return fmt::format("<td{}>{}</td>", number ? " class=\"number\"" : "", escaped(text));
  const char* look = number ? " class=\"number\"" : text.size() <= kShortName ? " class=\"name\"" : "";
  return fmt::format("<th scope=\"row\"{}>{}</th>", look, escaped(text));
}

std::string body_html(const Table& table) {
  std::string out = "<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t column = 0; column < table.columns.size(); ++column)
      out += cell_html(table, column, column < row.size() ? row[column] : "");
    out += "</tr>\n";
  }
  return out + "</tbody>\n";
}

}  // namespace

std::string kind_html(std::string_view words) {
  return words.empty() ? "" : fmt::format("<span class=\"kind\">{}</span>", words);
}

// Keyboard users scroll a wide table by the focusable box around it.
std::string grid_html(const Table& table, std::string_view caption) {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n{}{}</table></div>\n",
      escaped(caption), head_html(table), body_html(table));
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return out;
}

std::string part_html(const Figure& figure, const Place& place) {
  std::string kinds;
  for (const Kind kind : kinds_of(figure)) kinds += kind_html(kind_word(kind));
  const Table numbers = table_of(figure);
  std::string out =
      fmt::format("<figure class=\"figure\">\n<figcaption>{}{}</figcaption>\n", escaped(figure.title), kinds);
  out += fmt::format("<div class=\"chart\" data-report=\"{}\" data-section=\"{}\" data-part=\"{}\"></div>\n",
                     place.report, place.section, place.part);
  if (!figure.note.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(figure.note));
  out += fmt::format("<details><summary>The numbers</summary>\n<p class=\"note\">{}</p>\n{}</details>\n</figure>\n",
                     escaped(numbers.title), grid_html(numbers, "the numbers of: " + figure.title));
  return out;
}

std::string part_html(const Table& table, const Place& /*place*/) {
  return fmt::format("<figure class=\"table\">\n<figcaption>{}</figcaption>\n{}</figure>\n", escaped(table.title),
                     grid_html(table, table.title));
}

}  // namespace partita::report
