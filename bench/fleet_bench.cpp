// The fleet planner on the generators and scenarios of its targets.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "base/csv.h"
#include "catalog/embedded.h"
#include "fleet/exact/closed_form.h"
#include "fleet/exact/solve.h"
#include "fleet/exact/test_instances.h"
#include "fleet/exact/validate.h"
#include "fleet/files/demand_file.h"

namespace partita::fleet {
namespace {

using test::RecutBoard;

const std::vector<RecutBoard> kMixed{{"a100-sxm4-40gb", 300}, {"h100-sxm5-80gb", 300}, {"a30-24gb", 200}};

// Unproven or wrong plans end the benchmark: a fast wrong answer is none.
const Plan& checked(const Fleet& fleet, const Demand& demand, const Result<Plan>& plan, bool proven) {
  if (!plan) throw std::runtime_error(plan.error().message);
  if (const auto right = validate(fleet, demand, *plan); !right) throw std::runtime_error(right.error().message);
  if (proven && !plan->optimal()) throw std::runtime_error("not proven");
  return *plan;
}

// Packing: draws one of six profiles until the next would exceed 0.90 to 0.95 of the memory slices of n GPUs.
SevenSliceCounts packing(std::int64_t n, std::uint64_t repetition) {
  std::mt19937_64 random((1000 * repetition) + 7);
  std::uniform_real_distribution<double> fill(0.90, 0.95);
  const double most = fill(random) * 8 * static_cast<double>(n);
  SevenSliceCounts out;
  const std::array<std::pair<int, std::int64_t*>, 6> forms{
      {{1, &out.one}, {2, &out.one_double}, {2, &out.two}, {4, &out.three}, {4, &out.four}, {8, &out.seven}}};
  std::uniform_int_distribution<std::size_t> draw(0, 5);
  for (double used = 0;;) {
    const auto& [slices, count] = forms[draw(random)];
    if (used + slices > most) return out;
    used += slices;
    ++*count;
  }
}

// The processor time of this thread: what the machine does besides does not count.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (static_cast<double>(now.tv_sec) * 1e3) + (static_cast<double>(now.tv_nsec) * 1e-6);
}

// One line per instance: which GPU, which profile, where.
struct Line {
  std::int64_t gpu;
  plan::Placed placed;
};

void pack_fleet(benchmark::State& state) {
  const auto profiles = seven_slice_profiles(*test::board("a100-sxm4-80gb")).value();
  const auto counts = packing(state.range(0), 0);
  std::int64_t gpus = 0;
  for (auto _ : state) {
    gpus = least_gpus(counts);
    std::vector<Line> lines;
    lines.reserve(static_cast<std::size_t>(7 * gpus));
    std::int64_t gpu = 0;
    for (const auto& group : pack_seven_slices(profiles, counts, gpus))
      for (std::int64_t i = 0; i < group.count; ++i, ++gpu)
        for (const auto& placed : group.instances) lines.push_back({gpu, placed});
    benchmark::DoNotOptimize(lines.data());
  }
  if (packable(counts, gpus - 1)) throw std::runtime_error("not the least");
  state.counters["gpus"] = static_cast<double>(gpus);
}
BENCHMARK(pack_fleet)->Arg(8)->Arg(800)->Arg(80'000)->Unit(benchmark::kMicrosecond);

// The best of three runs of each case, in processor time: p50, p99 and the worst over the cases, and the means of the
// plan's quantities.
void recut_nodes(benchmark::State& state) {
  const double busy = static_cast<double>(state.range(0)) / 100;
  const double keep = static_cast<double>(state.range(1)) / 100;
  std::vector<double> times;
  double destroyed = 0;
  double created = 0;
  for (auto _ : state) {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
      const auto one = test::recut(seed, {{"a100-sxm4-40gb", 8}}, busy, keep, Goal::disturbance);
      if (one.demand.wants.empty()) continue;
      double best = 1e9;
      for (int run = 0; run < 3; ++run) {
        const double start = cpu_ms();
        const auto plan = solve(one.fleet, one.demand);
        best = std::min(best, cpu_ms() - start);
        if (run > 0) continue;
        const auto& made = checked(one.fleet, one.demand, plan, true);
        destroyed += made.levels[0].value;
        created += made.levels[1].value;
      }
      times.push_back(best);
    }
  }
  std::ranges::sort(times);
  state.counters["p50_ms"] = times[times.size() / 2];
  state.counters["p99_ms"] = times[times.size() * 99 / 100];
  state.counters["worst_ms"] = times.back();
  state.counters["destroyed"] = destroyed / 500;
  state.counters["created"] = created / 500;
}
BENCHMARK(recut_nodes)
    ->ArgNames({"busy_percent", "demand_percent"})
    ->ArgsProduct({{25, 50, 75}, {50, 70, 100}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void recut_fleet(benchmark::State& state) {
  const auto one = test::recut(0, {{"a100-sxm4-40gb", 800}}, static_cast<double>(state.range(0)) / 100,
                               static_cast<double>(state.range(1)) / 100, Goal::disturbance);
  for (auto _ : state) {
    const auto plan = solve(one.fleet, one.demand);
    const auto& made = checked(one.fleet, one.demand, plan, true);
    state.counters["destroyed"] = made.levels[0].value;
    state.counters["created"] = made.levels[1].value;
  }
}
BENCHMARK(recut_fleet)
    ->ArgNames({"busy_percent", "demand_percent"})
    ->ArgsProduct({{25, 50, 75}, {50, 70, 100}})
    ->Unit(benchmark::kMillisecond);

// Demands that the fleet has to be recut for: what is idle is not enough, and must be chosen well.
void mixed_fleet(benchmark::State& state) {
  const auto one = test::recut(static_cast<std::uint32_t>(state.range(0)), kMixed, 0.5, 0.7, Goal::touched);
  for (auto _ : state) {
    const auto plan = solve(one.fleet, one.demand);
    const auto& made = checked(one.fleet, one.demand, plan, true);
    state.counters["touched"] = made.levels[0].value;
    state.counters["destroyed"] = made.levels[1].value;
    state.counters["kinds"] = static_cast<double>(one.fleet.kinds.size());
  }
}
BENCHMARK(mixed_fleet)->ArgName("seed")->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

CsvTable table(const std::string& name) { return parse_csv(*catalog::embedded_file("measured/" + name), name).value(); }

// ParvaGPU's scenarios S1-S6: number, rates times, without suspect rows.
void serving(benchmark::State& state) {
  const bool clean = state.range(2) != 0;
  const auto points =
      read_points(*catalog::embedded_file("measured/parvagpu_a100_80gb_inference_profiles.csv"), "points", clean)
          .value();
  const Fleet fleet{{{"a100", test::board("a100-sxm4-80gb"), {}, std::nullopt}}};
  for (auto _ : state) {
    Demand demand;
    for (const auto& row : table("parvagpu_slo_scenarios.csv").rows) {
      if (std::stoi(row[0]) != state.range(0)) continue;
      const Service service{row[1], row[1], std::stod(row[3]) * static_cast<double>(state.range(1)), std::stod(row[2])};
      demand.wants.push_back(
          want_of(service, choices(points, service, {.kind = ServiceRule::Kind::saturated}).value(), fleet).value());
    }
    const auto plan = solve(fleet, demand);
    const auto& made = checked(fleet, demand, plan, state.range(1) == 1);
    state.counters["gpus"] = made.levels[0].value;
    state.counters["bound"] = made.levels[0].bound;
    state.counters["slices"] = made.levels[2].value;
    state.counters["slices_bound"] = made.levels[2].bound;
  }
}
BENCHMARK(serving)
    ->ArgNames({"scenario", "rate_times", "clean"})
    ->ArgsProduct({{1, 2, 3, 4, 5, 6}, {1, 1000}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::fleet
