// What a prediction was asked for and what came out, as `partita predict` shows it. Plain data; JSON in api/json.h.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/board.h"
#include "predict/calibration.h"
#include "predict/table.h"

namespace partita::api {

struct PredictRequest {
  predict::Settings settings;  // the batch is in `query`
  predict::TableQuery query;
  bool batch_range = false;  // several batches: knees are told
  predict::Need need;
  bool needs() const { return need.throughput || need.latency_ms || need.share; }
};

// Where one more measurement would help most.
struct NextMeasurement {
  std::string profile;
  int batch = 1;
  double spread_before = 0, spread_after = 0;  // mean log-scale deviation over the table
};

struct AppliedCalibration {
  std::string file;
  std::size_t points = 0;
  predict::Calibration calibration;
  std::optional<NextMeasurement> next;
};

struct BoardPrediction {
  std::shared_ptr<const catalog::Board> board;  // owns what the table's partitions point to
  predict::Table table;
  std::vector<predict::Knee> knees;       // with a range of batches
  std::optional<predict::Choice> choice;  // with a need
  std::optional<AppliedCalibration> calibration;
};

struct PredictAnswer {
  PredictRequest request;
  std::string workload, title;
  std::vector<BoardPrediction> boards;
};

// A workload without architecture: other profiles from two measured ones.
struct TwoPointAnswer {
  std::shared_ptr<const catalog::Board> board;
  std::string file;
  predict::TwoPoints points;
  struct Row {
    std::string profile;
    bool measured = false;
    bool beyond = false;  // smaller or larger than both points: all that is known is its interval
    predict::Estimate step_ms;
  };
  std::vector<Row> rows;
};

struct WorkloadRow {
  std::string name, title, unit;
  double macs = 0, parameters = 0;  // per sample; count
  std::optional<int> sequence;      // the default
};

// The words of the enumerations, as the command line and JSON spell them.
template <class T, std::size_t n>
using Words = std::array<std::pair<std::string_view, T>, n>;
inline constexpr Words<predict::Mode, 2> kModeWords = {
    {{"inference", predict::Mode::inference}, {"training", predict::Mode::training}}};
inline constexpr Words<predict::Precision, 6> kPrecisionWords = {{{"fp32", predict::Precision::fp32},
                                                                  {"tf32", predict::Precision::tf32},
                                                                  {"fp16", predict::Precision::fp16},
                                                                  {"bf16", predict::Precision::bf16},
                                                                  {"int8", predict::Precision::int8},
                                                                  {"fp8", predict::Precision::fp8}}};
inline constexpr Words<predict::Framework, 3> kFrameworkWords = {
    {{"eager_overlapped", predict::Framework::eager_overlapped},
     {"eager_serial", predict::Framework::eager_serial},
     {"graph", predict::Framework::graph}}};
inline constexpr Words<predict::Optimizer, 3> kOptimizerWords = {{{"sgd", predict::Optimizer::sgd},
                                                                  {"sgd_momentum", predict::Optimizer::sgd_momentum},
                                                                  {"adam", predict::Optimizer::adam}}};

template <class T, std::size_t n>
constexpr std::string_view word_of(const Words<T, n>& words, T value) {
  for (const auto& [word, each] : words)
    if (each == value) return word;
  return "";
}

}  // namespace partita::api
