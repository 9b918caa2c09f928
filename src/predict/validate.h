// How far predictions lie from measurements: error tables of a data set, against naive rules, with and without
// calibration. Measured values are used for nothing but the errors and the named calibration points.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "predict/cases.h"
#include "predict/constants.h"

namespace partita::predict {

// |predicted / measured throughput - 1| (or of ratios, or memory), as shares.
struct Errors {
  std::string name;
  int rows = 0;
  double mean = 0, median = 0, p90 = 0;
  std::optional<double> inside;  // share of measurements inside the stated 90 % interval
};

struct WorstRow {
  int line = 0;  // in the data set's file
  std::string what;
  double measured = 0, predicted = 0, error = 0;  // throughput
  std::string left_out;                           // why it does not count; "" = it counts
};

// Rows that do not count.
struct Skipped {
  std::string reason;
  int rows = 0;
  std::vector<int> lines;  // the first ones, where the file did not say the reason itself
};

struct SetReport {
  std::string name, title;
  int rows = 0;  // that count
  std::vector<Skipped> skipped;
  std::vector<std::string> unused_columns, assumed;  // as the data set and its names needed it
  std::vector<Errors> time;        // zero-shot, one point, three points, several processes, busy neighbours
  std::vector<Errors> ratio;       // instance over the largest one at the same batch: model, then the naive rules
  std::vector<Errors> two_points;  // no architecture
  std::vector<Errors> memory;
  std::vector<Errors> by_workload, by_profile, ratio_by_profile;
  std::optional<std::pair<double, double>> four_over_three;  // median 4g/3g throughput: predicted, measured
  int fit_answers = 0, fit_right = 0, fit_uncertain = 0;     // fits or not, outside 10 % of the capacity
  std::vector<WorstRow> worst;                               // the ten largest errors
  std::vector<WorstRow> left_out;                            // rows that do not count, predicted all the same (<= 20)
};

// The entry of that name in `errors`; nullptr when there is none.
const Errors* find(const std::vector<Errors>& errors, std::string_view name);

// A row that cannot be used is counted and named in `skipped`; an error when none can.
Result<SetReport> validate(Library& library, const Constants& constants, const DataSet& set);

// The tables as Markdown.
std::string to_markdown(const std::vector<SetReport>& reports);
// docs/prediction.md: what the model is, the tables, the format of measured data, the constants with errors and
// sources.
std::string prediction_page(const std::vector<SetReport>& reports, const Constants& constants);

}  // namespace partita::predict
