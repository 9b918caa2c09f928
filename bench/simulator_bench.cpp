// The simulator: events per second on one core for each kind of sharing, and memory over simulated time.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "study/simulator.h"

namespace partita::study {
namespace {

// Open tenants that together fill 70 % of one server. `gpu_share`: of a step that is GPU time; the rest is its host's.
Scenario shared(Sharing sharing, int tenants, double gpu_share = 1) {
  Scenario s;
  s.servers.push_back({.name = "gpu", .sharing = sharing});
  for (int i = 0; i < tenants; ++i) {
    Tenant t;
    t.name = fmt::format("t{}", i);
    t.arrivals.kind = Arrivals::Kind::poisson;
    t.arrivals.rate_per_s = 70.0 / tenants * (sharing == Sharing::vgpu_equal_share ? 0.8 : 1);
    t.service.batch_s = {0.01 / gpu_share};
    if (gpu_share < 1) t.service.gpu_s = {0.01};
    t.service.variation = 1;
    s.tenants.push_back(t);
  }
  s.duration_s = 10'000;
  return s;
}

void simulate_shared(benchmark::State& state, Sharing sharing, double gpu_share = 1) {
  const auto scenario = shared(sharing, static_cast<int>(state.range(0)), gpu_share);
  std::int64_t events = 0;
  for (auto _ : state) events += static_cast<std::int64_t>(simulate(scenario).value().events);
  state.SetItemsProcessed(events);  // events per second
}
BENCHMARK_CAPTURE(simulate_shared, exclusive, Sharing::exclusive)->Arg(1)->Arg(7)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, time_slice, Sharing::time_slice)->Arg(7)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, mps, Sharing::mps)->Arg(1)->Arg(7)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, equal_share, Sharing::vgpu_equal_share)->Arg(7)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, time_slice_half_host, Sharing::time_slice, 0.5)
    ->Arg(7)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, mps_half_host, Sharing::mps, 0.5)->Arg(7)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_shared, equal_share_half_host, Sharing::vgpu_equal_share, 0.5)
    ->Arg(7)
    ->Unit(benchmark::kMillisecond);

// Seven MIG instances of one GPU with batching, closed loops, and neighbours that slow each other.
void simulate_mig_layout(benchmark::State& state) {
  Scenario s;
  for (int i = 0; i < 7; ++i) {
    s.servers.push_back({.name = "1g.5gb", .neighbour_loss = state.range(0) == 0 ? 0 : 0.024});
    Tenant t;
    t.name = fmt::format("t{}", i);
    t.arrivals.clients = 16;
    t.arrivals.think_s = 0.05;
    t.batching = {8, 0.002};
    t.service.batch_s = {.004, .005, .006, .007, .008, .009, .010, .011};
    t.service.variation = 0.1;
    t.server = i;
    s.tenants.push_back(t);
  }
  s.duration_s = 1000;
  std::int64_t events = 0;
  for (auto _ : state) events += static_cast<std::int64_t>(simulate(s).value().events);
  state.SetItemsProcessed(events);
}
BENCHMARK(simulate_mig_layout)->ArgName("neighbours")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Resident memory after 1,000 and 100,000 simulated seconds.
void memory_over_simulated_time(benchmark::State& state) {
  auto scenario = shared(Sharing::mps, 7);
  scenario.duration_s = static_cast<double>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(scenario).value());
  state.counters["resident_mib"] = resident_mib();
}
BENCHMARK(memory_over_simulated_time)->Arg(1'000)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::study
