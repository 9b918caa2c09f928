#include "fleet/explain.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "fleet/program.h"

namespace partita::fleet {

namespace {

// What each resource of one board asks for, whatever the others do.
std::vector<Binding> bindings_of(const Fleet& fleet, const Plan& plan) {
  const auto& board = *fleet.kinds.front().board;
  std::map<int, std::int64_t> serving;  // profile
  std::int64_t gpus = 0;
  for (const auto& group : plan.groups) {
    if (used(group)) gpus += group.count;
    for (const auto& instance : group.instances)
      if (instance.want >= 0) serving[instance.placed.profile] += group.count;
  }
  double memory = 0;
  double compute = 0;
  std::vector<Binding> out;
  for (const auto& [p, n] : serving) {
    const auto& profile = board.profiles[static_cast<std::size_t>(p)];
    memory += static_cast<double>(n * profile.memory_slices) / board.memory_slices;
    compute += static_cast<double>(n * profile.compute_slices) / board.compute_slices;
    out.push_back({"places for " + profile.name, static_cast<double>(n) / profile.max_instances, false});
  }
  out.push_back({"memory slices", memory, false});
  out.push_back({"compute slices", compute, false});
  for (auto& each : out) each.binds = std::ceil(each.least_gpus - 1e-9) >= static_cast<double>(gpus);
  std::ranges::stable_sort(out, std::ranges::greater{}, &Binding::least_gpus);
  if (!out.front().binds) out.insert(out.begin(), {"how the pieces fit together", static_cast<double>(gpus), true});
  return out;
}

}  // namespace

Result<Explanation> explain(const Fleet& fleet, const Demand& demand, const Plan& plan, const SolveOptions& options,
                            std::size_t most_wants) {
  Explanation out;
  if (demand.goal != Goal::cost || plan.levels.empty()) return out;
  const auto empty = [](const Kind& kind) { return kind.state.empty(); };
  const bool one_board = std::ranges::all_of(
      fleet.kinds, [&](const Kind& kind) { return kind.board == fleet.kinds.front().board && empty(kind); });
  if (one_board) out.bindings = bindings_of(fleet, plan);
  out.gpu_price = std::ranges::min_element(fleet.kinds, {}, &Kind::price)->price;
  const double cost = plan.levels.front().value;

  Program program(fleet, demand);
  const auto level = program.levels(Goal::cost).front();
  for (const auto& term : level.terms) program.base.columns[static_cast<std::size_t>(term.column)].cost = term.value;
  const auto relaxed = relax(program.base);
  for (std::size_t w = 0; w < std::min(most_wants, demand.wants.size()); ++w) {
    Margin margin;
    margin.want = static_cast<int>(w);
    margin.cheaper = TRY(most_of(fleet, demand, w, cost - out.gpu_price, options));
    margin.here = TRY(most_of(fleet, demand, w, cost, options)).value_or(demand.wants[w].amount);
    margin.roomier = TRY(most_of(fleet, demand, w, cost + out.gpu_price, options)).value_or(margin.here);
    margin.here = std::max(margin.here, demand.wants[w].amount);
    margin.roomier = std::max(margin.roomier, margin.here);
    if (relaxed) margin.price = program.price_of(w, *relaxed);
    out.margins.push_back(margin);
  }
  return out;
}

}  // namespace partita::fleet
