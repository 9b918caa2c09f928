#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace partita {

namespace {

// Reads fields off the text, one at a time.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  bool done() const { return at_ >= text_.size(); }
  int line() const { return line_; }

  // The rest of this line, without its end; for "#" lines and for telling empty lines.
  std::string_view peek_line() const {
    const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
    return rest.ends_with('\r') ? rest.substr(0, rest.size() - 1) : rest;
  }
  void skip_line() {
    const std::size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++line_;
  }

  Result<std::vector<std::string>> row() {
    std::vector<std::string> fields;
    for (;;) {
      fields.push_back(TRY(field()));
      if (!done() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      skip_line();  // at a line's end, or at the text's
      return fields;
    }
  }

 private:
  // Stops at the "," or the line's end behind the field.
  Result<std::string> field() {
    if (!done() && text_[at_] == '"') return quoted();
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    std::string_view out = text_.substr(at_, end - at_);
    if (out.ends_with('\r')) out.remove_suffix(1);
    if (out.contains('"'))
      return error(line_,
                   fmt::format("a quote inside {}; quote the whole field and double the quotes in it", quote(out)));
    at_ = end;
    return std::string(out);
  }

  Result<std::string> quoted() {
    const int start = line_;
    std::string out;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        out += text_[at_];
        continue;
      }
      if (++at_ < text_.size() && text_[at_] == '"') {
        out += '"';
        continue;
      }
      if (!done() && text_[at_] == '\r') ++at_;
      if (!done() && text_[at_] != ',' && text_[at_] != '\n')
        return error(line_, "text after a closing quote; expected \",\" or the line's end");
      return out;
    }
    return error(start, "a quote that is opened here is never closed");
  }

  std::unexpected<Error> error(int line, std::string_view message) const {
    return fail(ErrorCode::invalid, fmt::format("{}:{}: {}", file_, line, message));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

Result<void> check_columns(const CsvTable& table, int line) {
  constexpr std::size_t kMost = 4096;
  if (table.columns.size() > kMost)
    return fail(ErrorCode::invalid, fmt::format("{}:{}: more than {} columns", table.file, line, kMost));
  for (auto name = table.columns.begin(); name != table.columns.end(); ++name)
    if (std::find(table.columns.begin(), name, *name) != name)
      return fail(ErrorCode::invalid, fmt::format("{}:{}: column {} is there twice", table.file, line, quote(*name)));
  return {};
}

}  // namespace

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

Result<std::size_t> CsvTable::require(std::string_view name) const {
  if (const auto found = column(name)) return *found;
  const std::string hint = did_you_mean(name, columns);
  return fail(ErrorCode::invalid, fmt::format("{}: column {} is missing{}; it has {}", file, quote(name), hint,
                                              one_line(join(columns, ", "))));
}

Result<std::optional<double>> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view cell = trim(rows.at(row).at(column));
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || stop != cell.data() + cell.size() || !std::isfinite(value))
    return fail(ErrorCode::invalid, fmt::format("{}:{}: column {}: expected a number, found {}", file, lines.at(row),
                                                columns.at(column), quote(cell)));
  return value;
}

namespace {

// Fills `table.columns`, then calls `row` with each row and its line.
template <class Row>
Result<void> read_rows(std::string_view text, CsvTable& table, std::size_t max_rows, const Row& row) {
  if (const auto line = line_of_bad_utf8(text))
    return fail(ErrorCode::invalid, fmt::format("{}:{}: not UTF-8 text", table.file, *line));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Reader reader(text, table.file);
  std::size_t rows = 0;
  while (!reader.done()) {
    const std::string_view whole = reader.peek_line();
    if (whole.empty() || (table.columns.empty() && whole.starts_with('#'))) {
      if (!whole.empty()) table.description.emplace_back(trim(whole.substr(1)));
      reader.skip_line();
      continue;
    }
    const int line = reader.line();
    std::vector<std::string> fields = TRY(reader.row());
    if (table.columns.empty()) {
      table.columns = std::move(fields);
      TRY_VOID(check_columns(table, line));
      continue;
    }
    if (fields.size() != table.columns.size())
      return fail(ErrorCode::invalid,
                  fmt::format("{}:{}: expected {} as in the header, found {}{}", table.file, line,
                              count_of(table.columns.size(), "field"), fields.size(),
                              table.columns.size() == 1 ? "; are the cells separated by commas?" : ""));
    if (rows++ == max_rows)
      return fail(ErrorCode::invalid, fmt::format("{}:{}: more than {} rows", table.file, line, max_rows));
    TRY_VOID(row(std::move(fields), line));
  }
  if (table.columns.empty())
    return fail(ErrorCode::invalid,
                fmt::format("{}:1: expected a header row with column names, found none", table.file));
  return {};
}

}  // namespace

Result<CsvTable> parse_csv(std::string_view text, std::string file, std::size_t max_rows) {
  CsvTable table;
  table.file = std::move(file);
  TRY_VOID(read_rows(text, table, max_rows, [&](std::vector<std::string> fields, int line) -> Result<void> {
    table.rows.push_back(std::move(fields));
    table.lines.push_back(line);
    return {};
  }));
  return table;
}

Result<void> visit_csv(std::string_view text, std::string file, const CsvVisitor& visit, std::size_t max_rows) {
  CsvTable table;
  table.file = std::move(file);
  table.rows.resize(1);
  table.lines.resize(1);
  return read_rows(text, table, max_rows, [&](std::vector<std::string> fields, int line) -> Result<void> {
    table.rows.front() = std::move(fields);
    table.lines.front() = line;
    return visit(table);
  });
}

}  // namespace partita
