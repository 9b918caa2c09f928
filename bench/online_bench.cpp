// Online placement on the mixes and loads of its targets. The traces' seeds are none of those that weights were tuned
// on.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <queue>
#include <stdexcept>

#include "catalog/catalog.h"
#include "fleet/exact/closed_form.h"
#include "fleet/online/online_mix.h"
#include "fleet/online/policy_file.h"

namespace partita::fleet {
namespace {

constexpr std::uint64_t kSeed = 20'261'130;

// 1g, 1g with double memory, 2g, 3g, 4g, 7g.
const std::array<std::vector<double>, 4> kMixes{
    {{1, 1, 1, 1, 1, 1}, {30, 25, 20, 10, 10, 5}, {5, 10, 10, 20, 25, 30}, {30, 15, 5, 5, 15, 30}}};
const std::array<std::string, 4> kMixNames{"uniform", "skew-small", "skew-big", "bimodal"};

struct Boards {
  catalog::Catalog catalog = catalog::Catalog::open().value();
  std::shared_ptr<const catalog::Board> board = catalog.board("a100-sxm4-40gb").value();
  GpuStates states = GpuStates::of(board, plain()).value();
  Scores tuned{states, {Rule::potential, shipped_weights(Features(board)).value()}};

  std::vector<int> plain() const {
    std::vector<int> out;
    for (std::size_t p = 0; p < board->profiles.size(); ++p)
      if (board->profiles[p].attributes == catalog::Attributes{}) out.push_back(static_cast<int>(p));
    return out;
  }
};
const Boards& boards() {
  static const Boards one;
  return one;
}

struct Cell {
  Mix mix;
  std::vector<Request> trace;
  RunOptions options;
};

Cell cell(const benchmark::State& state, std::size_t requests) {
  Cell out;
  out.mix.shares = kMixes.at(static_cast<std::size_t>(state.range(0)));
  out.mix.load = static_cast<double>(state.range(1)) / 100;
  out.mix.gpus = static_cast<std::uint32_t>(state.range(2));
  out.mix.movable = 1;
  out.trace = make_trace(boards().states, out.mix, requests, kSeed);
  out.options.gpus = out.mix.gpus;
  out.options.from = out.trace[requests / 10].arrival;
  return out;
}

struct Shares {
  double requests = 0, slices = 0;
};
Shares shares(const std::vector<Served>& profiles) {
  double asked = 0, got = 0, asked_slices = 0, got_slices = 0;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    const auto slices = static_cast<double>(boards().states.memory_of(p));
    asked += static_cast<double>(profiles[p].asked);
    got += static_cast<double>(profiles[p].accepted);
    asked_slices += static_cast<double>(profiles[p].asked) * slices;
    got_slices += static_cast<double>(profiles[p].accepted) * slices;
  }
  return {got / asked, got_slices / asked_slices};
}

// Accepted whenever the counts can be packed: unlimited migration without cost.
Shares repacked(const Cell& cell) {
  std::array<std::int64_t, 6> held{};
  std::vector<Served> served(held.size());
  using End = std::pair<double, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (const auto& request : cell.trace) {
    for (; !ends.empty() && ends.top().first <= request.arrival; ends.pop()) --held[ends.top().second];
    const bool counts = request.arrival >= cell.options.from;
    served[request.profile].asked += counts ? 1 : 0;
    ++held[request.profile];
    if (!packable({held[0], held[1], held[2], held[3], held[4], held[5]}, cell.mix.gpus)) {
      --held[request.profile];
      continue;
    }
    served[request.profile].accepted += counts ? 1 : 0;
    ends.emplace(request.arrival + request.duration, request.profile);
  }
  return shares(served);
}

void print(benchmark::State& state, const std::string& policy, const Shares& shares) {
  state.counters[policy + ".requests"] = shares.requests;
  state.counters[policy + ".slices"] = shares.slices;
}

// `least_margin`: how far the tuned potential is above the best other policy, in requests and slices, the smaller.
void online_cell(benchmark::State& state) {
  const auto& at = boards();
  const auto one = cell(state, 1'000'000);
  for (auto _ : state) {
    const auto tuned = shares(run(at.states, at.tuned, one.trace, one.options).profiles);
    print(state, "tuned", tuned);
    double margin = 1;
    for (const auto rule : {Rule::first_fit, Rule::best_fit, Rule::tight_fit, Rule::least_fragmentation}) {
      const auto other = shares(run(at.states, Scores(at.states, Policy{rule}), one.trace, one.options).profiles);
      print(state, std::string(name(rule)), other);
      margin = std::min({margin, tuned.requests - other.requests, tuned.slices - other.slices});
      if (rule == Rule::least_fragmentation && other.requests < 1)
        state.counters["fewer_refused_percent"] = 100 * (1 - ((1 - tuned.requests) / (1 - other.requests)));
    }
    state.counters["least_margin"] = margin;
  }
  state.SetLabel(kMixNames.at(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(online_cell)
    ->ArgNames({"mix", "load_percent", "gpus"})
    ->ArgsProduct({{0, 1, 2, 3}, {85, 100, 130}, {8, 100, 1000}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// At most one move per accepted request; each makes its job last a hundredth of the mean duration longer. `room`: moves
// only make room for a request that finds none; `both`: a move that gains much also follows other requests.
void online_migration(benchmark::State& state) {
  const auto& at = boards();
  const auto one = cell(state, 300'000);
  for (auto _ : state) {
    const auto fixed = shares(run(at.states, at.tuned, one.trace, one.options).profiles);
    const auto ideal = repacked(one);
    print(state, "fixed", fixed);
    print(state, "repack", ideal);
    for (const bool both : {false, true}) {
      auto options = one.options;
      options.migration = Migration{.pause = 0.01, .least_gain = both ? std::optional(0.5) : std::nullopt};
      const auto result = run(at.states, at.tuned, one.trace, options);
      const auto moved = shares(result.profiles);
      std::int64_t accepted = 0;
      for (const auto& served : result.profiles) accepted += served.accepted;
      const std::string name = both ? "both" : "room";
      print(state, name, moved);
      state.counters[name + ".moves_per_request"] = static_cast<double>(result.moves) / static_cast<double>(accepted);
      state.counters[name + ".gap_closed"] = (moved.slices - fixed.slices) / (ideal.slices - fixed.slices);
    }
  }
  state.SetLabel(kMixNames.at(static_cast<std::size_t>(state.range(0))));
}
BENCHMARK(online_migration)
    ->ArgNames({"mix", "load_percent", "gpus"})
    ->ArgsProduct({{0, 1, 2, 3}, {85, 100}, {100}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

// Whole simulation: draw nothing, decide, place, and end what ends.
void online_decisions(benchmark::State& state) {
  const auto& at = boards();
  auto one = cell(state, 200'000);
  for (auto _ : state) benchmark::DoNotOptimize(run(at.states, at.tuned, one.trace, one.options));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(one.trace.size()));
}
BENCHMARK(online_decisions)
    ->ArgNames({"mix", "load_percent", "gpus"})
    ->ArgsProduct({{0}, {100}, {8, 100, 1000, 100'000}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::fleet
