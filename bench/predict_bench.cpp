// Prediction: one ResNet-50 step (<= 20 us), a board's whole table at nine batches (<= 5 ms), a calibration, a fit (<=
// 10 s).
#include <benchmark/benchmark.h>

#include "predict/calibration.h"
#include "predict/fit.h"
#include "predict/table.h"

namespace {

using namespace partita;           // NOLINT(google-build-using-namespace)
using namespace partita::predict;  // NOLINT(google-build-using-namespace)

Library& library() {
  static Library opened = *Library::open();
  return opened;
}

const Workload& network(const char* name) { return **library().workload(name, std::nullopt); }

void one_prediction(benchmark::State& state) {
  const Workload& workload = network("resnet50");
  Partition partition = *library().partition("a100-sxm4-80gb", "3g.40gb");
  Settings settings;
  settings.batch = 32;
  settings.mode = state.range(0) == 1 ? Mode::training : Mode::inference;
  for (auto _ : state) benchmark::DoNotOptimize(predict::predict(**shipped_constants(), workload, settings, partition));
}
BENCHMARK(one_prediction)->ArgName("training")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

void prediction_of_a_compiled_workload(benchmark::State& state) {
  Partition partition = *library().partition("a100-sxm4-80gb", "3g.40gb");
  Predictor predictor = *Predictor::make(**shipped_constants(), network("resnet50"), {}, *partition.board);
  for (auto _ : state) benchmark::DoNotOptimize(predictor.predict(partition, 32));
}
BENCHMARK(prediction_of_a_compiled_workload)->Unit(benchmark::kMicrosecond);

void table_of_a_board(benchmark::State& state) {
  const char* names[] = {"resnet50", "densenet201", "bert-large"};
  const Workload& workload = network(names[state.range(0)]);
  state.SetLabel(workload.name);
  const catalog::Board& board = **library().board("a100-sxm4-80gb");
  TableQuery query;
  query.batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  Settings settings;
  settings.mode = Mode::training;
  for (auto _ : state) {
    benchmark::DoNotOptimize(predict_table(**shipped_constants(), workload, settings, board, query));
  }
}
BENCHMARK(table_of_a_board)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

void calibration_by_three_points(benchmark::State& state) {
  Partition large = *library().partition("a100-sxm4-80gb", "7g.80gb"),
            small = *library().partition("a100-sxm4-80gb", "1g.10gb");
  Predictor predictor = *Predictor::make(**shipped_constants(), network("resnet50"), {}, *large.board);
  std::vector<Point> points{{large, 1, 5.5}, {large, 256, 90}, {small, 256, 600}};
  for (auto _ : state) benchmark::DoNotOptimize(calibrate(predictor, points));
}
BENCHMARK(calibration_by_three_points)->Unit(benchmark::kMillisecond);

void fit_of_all_constants(benchmark::State& state) {
  DataSet set = shipped_datasets()->front();
  for (auto _ : state) benchmark::DoNotOptimize(fit(library(), set));
}
BENCHMARK(fit_of_all_constants)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
