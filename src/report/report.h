// A report as data: a summary in words, figures and tables. Written as one self-contained HTML page, Markdown or JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace partita::report {

// How a number came about; shown beside it, always.
enum class Kind { measured, simulated, predicted, input, planned };  // planned: chosen, of what is known

struct Value {
  double value = 0;
  std::optional<double> low, high;  // interval
};

struct Series {
  std::string name;
  Kind kind = Kind::simulated;
  std::vector<std::optional<Value>> values;  // parallel to the figure's x
};

struct Figure {
  enum class Shape { bars, grouped_bars, lines, timeline };
  Shape shape = Shape::bars;
  std::string title;
  std::string x_title, y_title;  // with units: "throughput (images/s)"
  std::vector<std::string> x;    // categories; numbers as text for lines and timeline
  bool x_is_number = false;
  bool log_y = false;
  std::vector<Series> series;
  std::string note;
};

// A logarithmic axis, said in its title, where the values are more than 30 times apart, so that the small ones are
// seen. Otherwise a bar stays as long as what it shows.
void logarithmic_if_wide(Figure& figure);

struct Table {
  std::string title;
  std::vector<std::string> columns;  // with units
  std::vector<Kind> kinds;           // per column; input for names
  std::vector<std::vector<std::string>> rows;
};

// Blocks to scale, in rows of one length: what stands on GPUs, or who holds their slices over time. The page draws it
// without a script.
struct Drawing {
  struct Look {
    enum class Fill { colour, hatched, outline, solid };
    std::string name;  // in the legend
    Fill fill = Fill::colour;
    int colour = 0;  // of Fill::colour: from 0, eight of them
  };
  struct Block {
    double from = 0, until = 0;  // along the row
    int top = 0, height = 1;     // lanes of the row
    std::string text;            // in it, where it fits
    std::string brief;           // instead, where it is narrow
    std::string below;           // in a second line, where there is room
    std::string detail;          // where it is pointed at
    int look = 0;                // index in Drawing::looks
  };
  struct Row {
    std::string name, note;
    int lanes = 1;
    std::vector<Block> blocks;
  };
  std::string title;
  Kind kind = Kind::planned;
  std::string scale;  // of the axis, with units
  double length = 1;  // of all rows, from 0
  double step = 1;    // between marks
  std::vector<Look> looks;
  std::vector<Row> rows;
  std::string note;
};

struct Section {
  std::string title;
  std::vector<std::string> paragraphs;  // plain sentences, computed from the numbers
  std::vector<std::variant<Figure, Table, Drawing>> parts;
};

struct Report {
  std::string title;
  std::string question;               // what the study asks
  std::vector<std::string> answer;    // in words, computed from the numbers
  std::vector<std::string> warnings;  // what to know before relying on it
  std::vector<Section> sections;
  std::vector<std::string> rests_on;  // inputs and their sources, assumptions
  std::string command;                // that made it
};

std::string to_html(const Report& report);
std::string to_html(const std::vector<Report>& reports, const std::string& title);  // one page, one part each
std::string to_markdown(const Report& report);
std::string to_json(const Report& report);

}  // namespace partita::report
