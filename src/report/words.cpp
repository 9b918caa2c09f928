#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace partita::report {
namespace {

constexpr std::size_t kMostRows = 200;
constexpr std::size_t kMostBlocks = 400;

std::string with_thousands(double value) {
  const std::string digits = fmt::format("{:.0f}", std::abs(value));
  std::string out = value < 0 ? "-" : "";
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) out += ',';
    out += digits[at];
  }
  return out;
}

bool is_gap(std::string_view cell) { return cell.empty() || cell == "-" || cell == "–" || cell == "—"; }

// Digits with signs, separators, bounds and percent around them: "12.5 (11 – 14)", "0.7 %", "≥ 3".
bool is_number(std::string_view cell) {
  static constexpr std::string_view kSigns[] = {"–", "±", "×", "≤", "≥", "−", "…"};
  bool digits = false;
  while (!cell.empty()) {
    const auto* sign = std::ranges::find_if(kSigns, [&](std::string_view one) { return cell.starts_with(one); });
    const bool known = sign != std::end(kSigns) || std::string_view("0123456789.,+-% ()<>/~e").contains(cell.front());
    if (!known) return false;
    digits = digits || (cell.front() >= '0' && cell.front() <= '9');
    cell.remove_prefix(sign != std::end(kSigns) ? sign->size() : 1);
  }
  return digits;
}

bool any_number(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows,
                             [&](const auto& row) { return column < row.size() && is_number(row[column]); });
}

}  // namespace

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::measured:
      return "measured";
    case Kind::simulated:
      return "simulated";
    case Kind::predicted:
      return "predicted";
    case Kind::input:
      return "input";
    case Kind::planned:
      return "planned";
  }
  return "input";
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "–" : value > 0 ? "∞" : "−∞";
  const double size = std::abs(value);
  if (size >= 1000) return with_thousands(value);
  if (size == 0) return "0";
  if (size >= 0.001) return fmt::format("{:.4g}", value);
  std::string text = fmt::format("{:.2e}", value);
  if (const auto zero = text.find("e-0"); zero != std::string::npos) text.erase(zero + 2, 1);
  return text;
}

std::string value_text(const std::optional<Value>& value) {
  if (!value) return "–";
  std::string text = number_text(value->value);
  if (!value->low && !value->high) return text;
  const auto bound = [](const std::optional<double>& side) { return side ? number_text(*side) : std::string("…"); };
  return fmt::format("{} ({} – {})", text, bound(value->low), bound(value->high));
}

std::string series_label(const Series& series) {
  if (series.name.empty()) return std::string(kind_word(series.kind));
  return fmt::format("{} ({})", series.name, kind_word(series.kind));
}

std::vector<Kind> kinds_of(const Figure& figure) {
  std::vector<Kind> kinds;
  for (const Series& series : figure.series)
    if (std::ranges::find(kinds, series.kind) == kinds.end()) kinds.push_back(series.kind);
  return kinds;
}

std::string figure_title(const Figure& figure) {
  std::string words;
  for (const Kind kind : kinds_of(figure)) words += fmt::format("{}{}", words.empty() ? "" : ", ", kind_word(kind));
  return words.empty() ? figure.title : fmt::format("{} ({})", figure.title, words);
}

bool is_number_column(const Table& table, std::size_t column) {
  return any_number(table, column) && std::ranges::all_of(table.rows, [&](const auto& row) {
           return column >= row.size() || is_gap(row[column]) || is_number(row[column]);
         });
}

std::string_view column_origin(const Table& table, std::size_t column) {
  if (column >= table.kinds.size()) return any_number(table, column) ? "origin not stated" : "";
  const Kind kind = table.kinds[column];
  if (kind == Kind::input && !any_number(table, column)) return "";
  return kind_word(kind);
}

Table table_of(const Figure& figure) {
  const std::size_t stride = (figure.x.size() + kMostRows - 1) / kMostRows;
  Table table{.title = figure.y_title, .columns = {figure.x_title}, .kinds = {Kind::input}, .rows = {}};
  if (stride > 1) table.title += fmt::format("; one in {} of {} points", stride, figure.x.size());
  for (const Series& series : figure.series) {
    table.columns.push_back(series.name);
    table.kinds.push_back(series.kind);
  }
  for (std::size_t at = 0; at < figure.x.size(); at += stride) {
    auto& row = table.rows.emplace_back(1, figure.x[at]);
    for (const Series& series : figure.series)
      row.push_back(value_text(at < series.values.size() ? series.values[at] : std::nullopt));
  }
  return table;
}

Table table_of(const Drawing& drawing) {
  Table table{.title = drawing.scale,
              .columns = {"on", "from", "until", "what"},
              .kinds = {Kind::input, drawing.kind, drawing.kind, Kind::input},
              .rows = {}};
  std::size_t left = 0;
  for (const auto& row : drawing.rows) {
    const auto name = row.note.empty() ? row.name : row.name + ", " + row.note;
    if (row.blocks.empty() && table.rows.size() < kMostBlocks) table.rows.push_back({name, "–", "–", "nothing"});
    for (const auto& block : row.blocks) {
      if (table.rows.size() >= kMostBlocks)
        ++left;
      else
        table.rows.push_back({name, number_text(block.from), number_text(block.until),
                              block.detail.empty() ? block.text : block.detail});
    }
  }
  if (left > 0) table.title += fmt::format("; the first {} of {} blocks", kMostBlocks, kMostBlocks + left);
  return table;
}

}  // namespace partita::report
