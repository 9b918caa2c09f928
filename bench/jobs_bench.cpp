// Schedules of moldable jobs on the batches of data/measured/far_instances.csv.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "base/csv.h"
#include "base/file.h"
#include "catalog/embedded.h"
#include "fleet/exact/test_instances.h"
#include "fleet/schedule/schedule.h"

namespace partita::fleet {
namespace {

struct FarInstance {
  Batch batch;
  double area_bound_s = 0, far_s = 0;
};

double number(const CsvTable& table, std::size_t row, std::string_view column) {
  return table.number(row, table.require(column).value()).value().value();
}

Fleet one_a100() { return {{{"a100", test::board("a100-sxm4-40gb"), {}, 1}}}; }

// The times of the measured table, which are also those that FAR's makespans stand on.
std::vector<ReconfigureTime> a100_times() {
  const auto table = parse_csv(*catalog::embedded_file("measured/mig_reconfig_times.csv"), "times").value();
  const auto board = test::board("a100-sxm4-40gb");
  std::vector<ReconfigureTime> out(board->profiles.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    for (std::size_t p = 0; p < out.size(); ++p)
      if (table.rows[r][0] == "A100" && number(table, r, "gpc_slices") == board->profiles[p].compute_slices)
        out[p] = {number(table, r, "create_s"), number(table, r, "destroy_s")};
  return out;
}

// By set and number of jobs.
std::map<std::pair<std::string, int>, std::vector<FarInstance>> far_instances() {
  const auto text = read_file(PARTITA_SOURCE_DIR "/data/measured/far_instances.csv").value();
  const auto table = parse_csv(text, "far").value();
  const auto times = a100_times();
  const auto profiles = test::plain_profiles(*test::board("a100-sxm4-40gb"));  // 1g, 1g double, 2g, 3g, 4g, 7g
  const std::array<std::pair<const char*, int>, 5> sizes{{{"t1_s", profiles[0]},
                                                          {"t2_s", profiles[2]},
                                                          {"t3_s", profiles[3]},
                                                          {"t4_s", profiles[4]},
                                                          {"t7_s", profiles[5]}}};
  std::map<std::pair<std::string, int>, std::vector<FarInstance>> out;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    auto& cell = out[{table.rows[r][0], static_cast<int>(number(table, r, "n"))}];
    if (number(table, r, "task") == 0)
      cell.push_back({{{}, {times}}, number(table, r, "area_bound_s"), number(table, r, "far_makespan_s")});
    Job job{"task", {}};
    for (const auto& [column, profile] : sizes) job.ways.push_back({0, profile, number(table, r, column)});
    cell.back().batch.jobs.push_back(std::move(job));
  }
  return out;
}

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec) * 1e3) + (static_cast<double>(now.tv_nsec) * 1e-6);
}

struct Cell {
  double ratio = 0, far = 0, gap = 0, worst_ms = 0;
};

Cell run(const std::vector<FarInstance>& instances) {
  Cell out;
  const auto fleet = one_a100();
  const auto n = static_cast<double>(instances.size());
  for (const auto& each : instances) {
    const double start = cpu_ms();
    const auto made = schedule(fleet, each.batch);
    out.worst_ms = std::max(out.worst_ms, cpu_ms() - start);
    if (!made) throw std::runtime_error(made.error().message);
    if (const auto right = validate(fleet, each.batch, *made); !right) throw std::runtime_error(right.error().message);
    out.ratio += made->makespan_s / each.area_bound_s / n;
    out.gap += (made->makespan_s - made->bound_s) / made->makespan_s / n;
    out.far += each.far_s / each.area_bound_s / n;
  }
  return out;
}

// Makespan over the area bound, FAR's there, and the proven gap: one line per cell, then the mean over the 30 cells.
void jobs_far(benchmark::State& state, const std::string& set) {
  static const auto all = far_instances();
  for (auto _ : state) {
    const int n = static_cast<int>(state.range(0));
    const auto cell = run(all.at({set, n}));
    state.counters["ratio"] = cell.ratio;
    state.counters["far_ratio"] = cell.far;
    state.counters["gap_percent"] = 100 * cell.gap;
    state.counters["worst_ms"] = cell.worst_ms;
  }
}
void sizes(benchmark::internal::Benchmark* each) {
  each->ArgName("n")->DenseRange(10, 35, 5)->Iterations(1)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(jobs_far, good, "good")->Apply(sizes);
BENCHMARK_CAPTURE(jobs_far, bad, "bad")->Apply(sizes);
BENCHMARK_CAPTURE(jobs_far, mix, "mix")->Apply(sizes);
BENCHMARK_CAPTURE(jobs_far, extreme, "extreme")->Apply(sizes);
BENCHMARK_CAPTURE(jobs_far, wide, "wide")->Apply(sizes);

void jobs_far_mean(benchmark::State& state) {
  for (auto _ : state) {
    double ratio = 0;
    double far = 0;
    double worst = 0;
    int above = 0;
    const auto all = far_instances();
    for (const auto& [name, instances] : all) {
      const auto cell = run(instances);
      ratio += cell.ratio / static_cast<double>(all.size());
      far += cell.far / static_cast<double>(all.size());
      worst = std::max(worst, cell.worst_ms);
      above += cell.ratio > cell.far ? 1 : 0;
    }
    state.counters["ratio"] = ratio;
    state.counters["far_ratio"] = far;
    state.counters["cells_above_far"] = above;
    state.counters["worst_ms"] = worst;
  }
}
BENCHMARK(jobs_far_mean)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::fleet
