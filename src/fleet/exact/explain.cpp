#include "fleet/exact/explain.h"

#include <algorithm>
#include <set>

#include "fleet/exact/bindings.h"
#include "fleet/exact/program.h"

namespace partita::fleet {

namespace {

// Plans made again search less than the plan itself, and only for what is shown.
SolveOptions lighter(const SolveOptions& options, Goal goal) {
  SolveOptions out = options;
  out.limits.nodes = std::min(out.limits.nodes, kExplainNodes);
  out.levels = goal == Goal::cost ? 1 : 2;
  return out;
}

Result<Otherwise> otherwise(const Fleet& fleet, const Demand& demand, const SolveOptions& options) {
  auto plan = solve(fleet, demand, options);
  if (plan) {
    plan->levels.resize(std::min(plan->levels.size(), static_cast<std::size_t>(options.levels)));
    return Otherwise(std::move(plan->levels));
  }
  const auto code = plan.error().code;
  if (code == ErrorCode::no_space || code == ErrorCode::impossible || code == ErrorCode::unavailable)
    return Otherwise();
  return std::unexpected(std::move(plan.error()));
}

Result<Otherwise> without_want(const Fleet& fleet, Demand demand, std::size_t w, const SolveOptions& options) {
  if (demand.wants.size() == 1) return Otherwise();
  demand.wants.erase(demand.wants.begin() + static_cast<std::ptrdiff_t>(w));
  return otherwise(fleet, demand, options);
}

std::int64_t used_of(const Plan& plan, std::size_t k) {
  std::int64_t out = 0;
  for (const auto& group : plan.groups)
    if (group.kind == static_cast<int>(k) && used(group)) out += group.count;
  return out;
}

Result<GpuMargin> margin_of(const Fleet& fleet, const Demand& demand, const Plan& plan, const std::string& board,
                            const SolveOptions& options) {
  // Pinned instances first, then idle ones: what a GPU holds least of.
  const auto holds = [&](std::size_t k) {
    const auto& state = fleet.kinds[k].state;
    return std::pair(std::ranges::count(state, true, &Occupant::pinned), state.size());
  };
  std::vector<std::size_t> kinds;
  bool open = false;
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
    if (fleet.kinds[k].board->id != board || fleet.kinds[k].count == 0) continue;
    kinds.push_back(k);
    open = open || !fleet.kinds[k].count;
  }
  GpuMargin out{board, {}, {}};
  const auto least = *std::ranges::min_element(kinds, {}, holds);
  const auto now = fleet.kinds[least].count.value_or(used_of(plan, least));
  if (now > 0) {
    auto smaller = fleet;
    smaller.kinds[least].count = now - 1;
    out.less = TRY(otherwise(smaller, demand, options));
  }
  if (open) return out;
  auto [larger, wanted] = std::pair(fleet, demand);
  add_empty_gpu(larger, wanted, least);
  out.more = TRY(otherwise(larger, wanted, options));
  return out;
}

// How much of a want fits at a cost.
Result<void> add_room(const Fleet& fleet, const Demand& demand, double cost, double step, const SolveOptions& options,
                      Margin& margin) {
  const auto w = static_cast<std::size_t>(margin.want);
  const double amount = demand.wants[w].amount;
  margin.cheaper = TRY(most_of(fleet, demand, w, cost - step, options));
  margin.here = std::max(amount, TRY(most_of(fleet, demand, w, cost, options)).value_or(amount));
  margin.roomier = std::max(margin.here, TRY(most_of(fleet, demand, w, cost + step, options)).value_or(margin.here));
  return {};
}

}  // namespace

void add_empty_gpu(Fleet& fleet, Demand& demand, std::size_t like) {
  const auto& board = fleet.kinds[like].board;
  for (auto& kind : fleet.kinds)
    if (kind.board->id == board->id && kind.state.empty() && kind.price == fleet.kinds[like].price && kind.count) {
      ++*kind.count;
      return;
    }
  const int added = static_cast<int>(fleet.kinds.size());
  for (auto& want : demand.wants) {
    const auto servers = want.servers;
    for (const auto& server : servers)
      if (server.kind == static_cast<int>(like)) want.servers.push_back({added, server.profile, server.weight});
  }
  fleet.kinds.push_back({fleet.kinds[like].name, board, {}, 1, fleet.kinds[like].price});
}

Result<Explanation> explain(const Fleet& fleet, const Demand& demand, const Plan& plan, const SolveOptions& options,
                            std::size_t most_wants) {
  Explanation out;
  if (plan.levels.empty()) return out;
  const auto less_work = lighter(options, demand.goal);
  const double cost = plan.levels.front().value;
  out.gpu_price = std::ranges::min_element(fleet.kinds, {}, &Kind::price)->price;

  Program program(fleet, demand);
  std::optional<LinearSolution> relaxed;
  if (demand.goal == Goal::cost) {
    const auto level = program.levels(Goal::cost).front();
    out.bindings = bindings_of(fleet, demand, cost, level.grain);
    for (const auto& term : level.terms) program.base.columns[static_cast<std::size_t>(term.column)].cost = term.value;
    relaxed = relax(program.base);
  }
  for (std::size_t w = 0; w < std::min(most_wants, demand.wants.size()); ++w) {
    Margin margin;
    margin.want = static_cast<int>(w);
    margin.without = TRY(without_want(fleet, demand, w, less_work));
    if (demand.goal == Goal::cost) TRY_VOID(add_room(fleet, demand, cost, out.gpu_price, less_work, margin));
    if (relaxed) margin.price = program.price_of(w, *relaxed);
    out.margins.push_back(std::move(margin));
  }
  if (fleet.kinds.size() == 1 && !fleet.kinds.front().count) return out;
  std::set<std::string> boards;
  for (const auto& kind : fleet.kinds)
    if (kind.count != 0 && boards.size() < kMostBoards && boards.insert(kind.board->id).second)
      out.gpus.push_back(TRY(margin_of(fleet, demand, plan, kind.board->id, less_work)));
  return out;
}

}  // namespace partita::fleet
