// Planning: fit on one GPU, transitions of a node of 8 GPUs, pack on a node of 8 GPUs.
//
// Each prints, over a fixed random set of cases, the median (p50_us) and the 99th percentile (p99_us) of the time of
// one case, the best of three runs each: what the work takes, not what else the machine did meanwhile.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <vector>

#include "catalog/catalog.h"
#include "layout/layout.h"
#include "plan/fit.h"
#include "plan/geometry.h"
#include "plan/pack.h"
#include "plan/transition.h"

namespace partita::plan {
namespace {

using layout::Gpu;
using layout::GpuInstance;
using layout::WantedInstance;

std::shared_ptr<const catalog::Board> board(std::string_view id) {
  auto catalog = catalog::Catalog::open();
  return catalog.value().board(id).value();
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(engine_) < p; }

 private:
  std::mt19937_64 engine_;
};

// Times each case and leaves p50, p99 and the mean of what the cases return.
void measure(benchmark::State& state, std::size_t cases, const std::function<int(std::size_t)>& run) {
  std::vector<double> best(cases, 1e9);
  double sum = 0;
  for (std::size_t i = 0; i < cases; ++i) {
    int result = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      result = run(i);
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      best[i] = std::min(best[i], took.count());
    }
    sum += result;
  }
  std::ranges::sort(best);
  state.counters["p50_us"] = best[cases / 2];
  state.counters["p99_us"] = best[cases * 99 / 100];
  state.counters["worst_us"] = best.back();
  state.counters["cases"] = static_cast<double>(cases);
  state.counters["mean"] = sum / static_cast<double>(cases);
  std::size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(run(next));
    next = (next + 1) % cases;
  }
}

int default_compute(const catalog::Profile& profile) {
  for (std::size_t c = 0; c < profile.compute.size(); ++c)
    if (profile.compute[c].is_default) return static_cast<int>(c);
  return static_cast<int>(profile.compute.size()) - 1;
}

GpuInstance instance(const catalog::Board& on, const Placed& at, bool busy) {
  const auto& profile = on.profiles[static_cast<std::size_t>(at.profile)];
  GpuInstance made;
  made.profile = at.profile;
  made.placement = {at.start, profile.placement_size};
  layout::ComputeInstance compute;
  compute.profile = default_compute(profile);
  compute.placement = {0, profile.compute[static_cast<std::size_t>(compute.profile)].placement_size};
  made.compute.push_back(compute);
  if (busy) made.pins.push_back({layout::Pin::Reason::busy, "pid 1"});
  return made;
}

WantedInstance wanted(const catalog::Board& on, int profile) {
  WantedInstance made;
  made.profile = profile;
  made.compute = {default_compute(on.profiles[static_cast<std::size_t>(profile)])};
  return made;
}

// Draws profiles until three in a row do not fit; each at a random free legal start (planning facts, section 3).
void fill(Random& random, const Geometry& geometry, const std::vector<int>& profiles, std::vector<Placed>& state) {
  int failures = 0;
  while (failures < 3) {
    const int profile = profiles[static_cast<std::size_t>(random.below(static_cast<int>(profiles.size())))];
    std::vector<int> starts;
    for (const auto& place : geometry.profiles()[static_cast<std::size_t>(profile)].placements) {
      state.push_back({profile, place.start});
      if (valid(geometry, state)) starts.push_back(place.start);
      state.pop_back();
    }
    if (starts.empty()) {
      ++failures;
      continue;
    }
    failures = 0;
    state.push_back({profile, starts[static_cast<std::size_t>(random.below(static_cast<int>(starts.size())))]});
  }
}

std::vector<int> all_profiles(const Geometry& geometry) {
  std::vector<int> profiles;
  for (std::size_t p = 0; p < geometry.profiles().size(); ++p) profiles.push_back(static_cast<int>(p));
  return profiles;
}

// The six profiles of the planning facts: all without attributes.
std::vector<int> plain_profiles(const catalog::Board& on) {
  std::vector<int> profiles;
  for (std::size_t p = 0; p < on.profiles.size(); ++p)
    if (on.profiles[p].attributes == catalog::Attributes{}) profiles.push_back(static_cast<int>(p));
  return profiles;
}

// Any state, any multiset up to a full GPU: half of them up to what the state leaves free.
struct FitCase {
  std::vector<Placed> pinned;
  std::vector<int> counts;
};
std::vector<FitCase> fit_cases(const Geometry& geometry, std::size_t n) {
  Random random(1);
  std::vector<FitCase> cases(n);
  for (auto& one : cases) {
    fill(random, geometry, all_profiles(geometry), one.pinned);
    std::erase_if(one.pinned, [&](const Placed&) { return random.chance(0.6); });
    int room = geometry.units();
    if (random.chance(0.5))
      for (const auto& at : one.pinned) room -= geometry.profiles()[static_cast<std::size_t>(at.profile)].size;
    one.counts.resize(geometry.profiles().size());
    for (int tries = 1 + random.below(8); tries > 0; --tries) {
      const auto p = static_cast<std::size_t>(random.below(static_cast<int>(geometry.profiles().size())));
      if (geometry.profiles()[p].size > room) continue;
      room -= geometry.profiles()[p].size;
      ++one.counts[p];
    }
  }
  return cases;
}

void fit_one_gpu(benchmark::State& state, const char* id) {
  const Geometry geometry(*board(id));
  const auto cases = fit_cases(geometry, 20'000);
  measure(state, cases.size(), [&](std::size_t i) { return fit(geometry, cases[i].pinned, cases[i].counts) ? 1 : 0; });
}
BENCHMARK_CAPTURE(fit_one_gpu, a100, "a100-sxm4-40gb");
BENCHMARK_CAPTURE(fit_one_gpu, rtx_pro_6000, "rtx-pro-6000-server");

struct Node {
  std::vector<Gpu> gpus;
  std::vector<std::vector<WantedInstance>> targets;  // per GPU: what is busy and what the witness keeps
  std::vector<DemandItem> demand;                    // what the witness keeps, over the node
};

// A node and a demand that can be met (planning facts, section 3): each instance busy with probability b, a witness
// filled around the busy ones, each of its new instances demanded with probability k.
Node random_node(std::uint64_t seed, const std::shared_ptr<const catalog::Board>& on, const Geometry& geometry,
                 double b, double k) {
  Random random(seed);
  Node node;
  const auto profiles = plain_profiles(*on);
  std::vector<int> demand(on->profiles.size());
  for (int g = 0; g < 8; ++g) {
    Gpu gpu;
    gpu.index = g;
    gpu.uuid = "GPU-" + std::to_string(g);
    gpu.board = on;
    gpu.mode = layout::MigMode{true, true};
    std::vector<Placed> state;
    fill(random, geometry, profiles, state);
    std::vector<Placed> busy;
    std::vector<WantedInstance> target;
    for (const auto& at : state) {
      gpu.instances.push_back(instance(*on, at, random.chance(b)));
      if (!gpu.instances.back().pinned()) continue;
      busy.push_back(at);
      target.push_back(wanted(*on, at.profile));
    }
    std::ranges::sort(gpu.instances, {}, [](const GpuInstance& i) { return i.placement.start; });
    const auto before = static_cast<std::ptrdiff_t>(busy.size());
    fill(random, geometry, profiles, busy);
    for (auto at = busy.begin() + before; at != busy.end(); ++at) {
      if (!random.chance(k)) continue;
      ++demand[static_cast<std::size_t>(at->profile)];
      target.push_back(wanted(*on, at->profile));
    }
    node.gpus.push_back(std::move(gpu));
    node.targets.push_back(std::move(target));
  }
  for (std::size_t p = 0; p < demand.size(); ++p) {
    if (demand[p] == 0) continue;
    node.demand.push_back({on->profiles[p].name, demand[p], {}});
    node.demand.back().on_gpu.assign(8, wanted(*on, static_cast<int>(p)));
  }
  return node;
}

std::vector<Node> random_nodes(const std::shared_ptr<const catalog::Board>& on, const Geometry& geometry, double b,
                               double k) {
  std::vector<Node> nodes;
  for (std::uint64_t seed = 0; seed < 500; ++seed) nodes.push_back(random_node(seed, on, geometry, b, k));
  return nodes;
}

// mean: GPU instances destroyed per node.
void transition_node(benchmark::State& state) {
  const auto on = board("a100-sxm4-40gb");
  const Geometry geometry(*on);
  const double b = static_cast<double>(state.range(0)) / 100;
  const auto nodes = random_nodes(on, geometry, b, 0.7);
  measure(state, nodes.size(), [&](std::size_t i) {
    int destroyed = 0;
    for (std::size_t g = 0; g < nodes[i].gpus.size(); ++g)
      destroyed += transition(nodes[i].gpus[g], geometry, nodes[i].targets[g]).value().gpu_instances_destroyed;
    return destroyed;
  });
}
BENCHMARK(transition_node)->ArgName("busy_percent")->Arg(0)->Arg(25)->Arg(50)->Arg(75)->Unit(benchmark::kMicrosecond);

// mean: GPU instances destroyed per node, to be compared with the exact optimum found by a solver on the same
// distribution (0.766 1.438 2.970, 0.640 1.008 1.994, 0.442 0.674 1.240).
void pack_node(benchmark::State& state) {
  const auto on = board("a100-sxm4-40gb");
  const Geometry geometry(*on);
  const auto nodes =
      random_nodes(on, geometry, static_cast<double>(state.range(0)) / 100, static_cast<double>(state.range(1)) / 100);
  measure(state, nodes.size(),
          [&](std::size_t i) { return pack(nodes[i].gpus, nodes[i].demand).value().gpu_instances_destroyed; });
}
BENCHMARK(pack_node)
    ->ArgNames({"busy_percent", "demand_percent"})
    ->ArgsProduct({{25, 50, 75}, {50, 70, 100}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace partita::plan
