// Aligned columns of text.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/terminal.h"

namespace partita::cli {

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

struct Column {
  std::string title;
  bool right = false;  // numbers
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row) { rows_.push_back({std::move(row), {}}); }
  // A line below the last row, not in columns, indented as column `under`.
  void add_note(Cell note, std::size_t under = 1) { rows_.push_back({{}, std::move(note), under}); }
  bool empty() const { return rows_.empty(); }

  // Each line begins with `indent` blanks and ends without any. The last column is cut where the width ends, unless the
  // output is no terminal: programs and pagers want it whole.
  std::string draw(const Look& look, int indent = 0) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    Cell note;
    std::size_t under = 0;
  };
  std::vector<int> widths() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace partita::cli
