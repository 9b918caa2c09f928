// A report as data: a summary in words, figures and tables. Written as one self-contained HTML page, Markdown or JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace partita::report {

// How a number came about; shown beside it, always.
enum class Kind { measured, simulated, predicted, input };

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

struct Section {
  std::string title;
  std::vector<std::string> paragraphs;  // plain sentences, computed from the numbers
  std::vector<std::variant<Figure, Table>> parts;
};

struct Report {
  std::string title;
  std::string question;             // what the study asks
  std::vector<std::string> answer;  // in words, computed from the numbers
  std::vector<Section> sections;
  std::vector<std::string> rests_on;  // inputs and their sources, assumptions
  std::string command;                // that made it
};

std::string to_html(const Report& report);
std::string to_html(const std::vector<Report>& reports, const std::string& title);  // one page, one part each
std::string to_markdown(const Report& report);
std::string to_json(const Report& report);

}  // namespace partita::report
