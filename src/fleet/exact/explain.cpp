#include "fleet/exact/explain.h"

#include <algorithm>
#include <map>

#include "fleet/exact/bindings.h"
#include "fleet/exact/program.h"

namespace partita::fleet {

namespace {

// Plans made again search less than the plan itself, and only for what is shown.
SolveOptions lighter(const SolveOptions& options, Goal goal, std::size_t wants) {
  constexpr std::size_t kPlansPerWant = 4;
  const int share = kExplainNodesInAll / static_cast<int>(1 + (goal == Goal::cost ? kPlansPerWant * wants : wants));
  SolveOptions out = options;
  out.limits.nodes = std::min({out.limits.nodes, kExplainNodes, std::max(share, 25)});
  out.levels = goal == Goal::cost ? 1 : 2;
  return out;
}

// nullopt: there is none, or none was found.
Result<std::optional<Plan>> plan_for(const Fleet& fleet, const Demand& demand, const SolveOptions& options) {
  auto plan = solve(fleet, demand, options);
  if (plan) return std::optional(std::move(*plan));
  const auto code = plan.error().code;
  if (code == ErrorCode::no_space || code == ErrorCode::impossible || code == ErrorCode::unavailable)
    return std::optional<Plan>();
  return std::unexpected(std::move(plan.error()));
}

Otherwise levels_of(std::optional<Plan> plan, int most) {
  if (!plan) return {};
  plan->levels.resize(std::min(plan->levels.size(), static_cast<std::size_t>(most)));
  return std::move(plan->levels);
}

Result<Otherwise> otherwise(const Fleet& fleet, const Demand& demand, const SolveOptions& options) {
  return levels_of(TRY(plan_for(fleet, demand, options)), options.levels);
}

Demand without(const Demand& demand, std::size_t w) {
  Demand out = demand;
  out.wants.erase(out.wants.begin() + static_cast<std::ptrdiff_t>(w));
  return out;
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
  } else {  // of an open kind that the plan leaves alone
    out.less = levels_of(plan, options.levels);
  }
  if (open) return out;
  auto [larger, wanted] = std::pair(fleet, demand);
  add_empty_gpu(larger, wanted, least);
  out.more = TRY(otherwise(larger, wanted, options));
  return out;
}

// The GPUs that a plan leaves free.
Fleet free_of(const Fleet& fleet, const Plan& plan) {
  Fleet out = fleet;
  for (std::size_t k = 0; k < out.kinds.size(); ++k)
    if (auto& count = out.kinds[k].count) *count -= used_of(plan, k);
  return out;
}

// How much of want w alone fits on what a plan leaves free, for a cost.
Result<double> most_beside(const Fleet& fleet, const Plan& plan, const Demand& demand, std::size_t w, double cost,
                           const SolveOptions& options) {
  const Demand alone{{demand.wants[w]}, demand.goal};
  return TRY(most_of(free_of(fleet, plan), alone, 0, cost, options)).value_or(0);
}

double served_by(const Plan& plan, const Demand& demand, std::size_t w) {
  double out = 0;
  for (const auto& group : plan.groups)
    for (const auto& instance : group.instances)
      if (instance.want == static_cast<int>(w))
        for (const auto& server : demand.wants[w].servers)
          if (server.kind == group.kind && server.profile == instance.placed.profile)
            out += server.weight * static_cast<double>(group.count);
  return out;
}

// What is left of want w when a GPU of the plan is dropped whose instances w can spare: where others stood, they take
// instances of w that are as large. nullopt: there is no such GPU that costs `step`.
std::optional<double> less_a_gpu(const Fleet& fleet, const Plan& plan, const Demand& demand, std::size_t w,
                                 double step) {
  std::map<std::pair<int, int>, std::int64_t> has;  // instances that serve w
  std::map<std::pair<int, int>, double> weights;
  for (const auto& server : demand.wants[w].servers) weights[{server.kind, server.profile}] = server.weight;
  for (const auto& group : plan.groups)
    for (const auto& instance : group.instances)
      if (instance.want == static_cast<int>(w)) has[{group.kind, instance.placed.profile}] += group.count;
  std::optional<double> least;
  for (const auto& group : plan.groups) {
    if (fleet.kinds[static_cast<std::size_t>(group.kind)].price < step - 1e-9 || !used(group)) continue;
    std::map<int, std::int64_t> needs;
    double lost = 0;
    bool can = true;
    for (const auto& instance : group.instances) {
      can = can && instance.is != Instance::Is::pinned;
      if (instance.want < 0) continue;
      const std::pair key(group.kind, instance.placed.profile);
      can = can && weights.contains(key) && has[key] >= ++needs[key.second];
      if (can) lost += weights[key];
    }
    if (can && (!least || lost < *least)) least = lost;
  }
  if (!least) return std::nullopt;
  return std::max(0.0, served_by(plan, demand, w) - *least);
}

// How much of a want fits at the plan's cost, `step` below and above. What fits at least is known: what the plan
// serves, on GPUs beside it, or beside the plan of the others (nullptr: there are none).
Result<void> add_room(const Fleet& fleet, const Demand& demand, const Plan& plan, const Plan* others, double step,
                      const SolveOptions& options, Margin& margin) {
  const auto w = static_cast<std::size_t>(margin.want);
  const double cost = plan.levels.front().value;
  const double spare = others == nullptr ? -1 : cost - step - others->levels.front().value;
  auto less = less_a_gpu(fleet, plan, demand, w, step);
  if (spare > -1e-9) less = std::max(less.value_or(0), TRY(most_beside(fleet, *others, demand, w, spare, options)));
  const double here = std::max(demand.wants[w].amount, served_by(plan, demand, w));
  const double more = here + TRY(most_beside(fleet, plan, demand, w, step, options));
  margin.cheaper = TRY(most_of(fleet, demand, w, cost - step, options, less));
  margin.here = TRY(most_of(fleet, demand, w, cost, options, here)).value_or(here);
  margin.roomier = TRY(most_of(fleet, demand, w, cost + step, options, std::max(margin.here, more))).value_or(more);
  return {};
}

// Whose GPUs are told one less and one more of; none where all are of one open kind.
std::vector<std::string> boards_of(const Fleet& fleet) {
  std::vector<std::string> out;
  if (fleet.kinds.size() == 1 && !fleet.kinds.front().count) return out;
  for (const auto& kind : fleet.kinds)
    if (kind.count != 0 && out.size() < kMostBoards && std::ranges::find(out, kind.board->id) == out.end())
      out.push_back(kind.board->id);
  return out;
}

// The clock struck while it was made: it says less than it should.
void drop_last(Explanation& explanation) {
  explanation.stopped = true;
  if (!explanation.gpus.empty())
    explanation.gpus.pop_back();
  else if (!explanation.margins.empty())
    explanation.margins.pop_back();
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
                            const ExplainProgress& progress, std::size_t most_wants) {
  Explanation out;
  if (plan.levels.empty()) return out;
  const auto less_work = lighter(options, demand.goal, std::min(most_wants, demand.wants.size()));
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
  const auto wants = std::min(most_wants, demand.wants.size());
  const auto boards = boards_of(fleet);
  int done = 0;
  const auto next = [&](const std::string& what) {
    out.stopped = out.stopped || (options.limits.stop && options.limits.stop());
    ++done;
    if (progress && !out.stopped) progress(done, static_cast<int>(wants + boards.size()), what);
    return !out.stopped;
  };
  for (std::size_t w = 0; w < wants && next(demand.wants[w].name); ++w) {
    Margin margin;
    margin.want = static_cast<int>(w);
    std::optional<Plan> others;
    if (demand.wants.size() > 1) others = TRY(plan_for(fleet, without(demand, w), less_work));
    if (demand.goal == Goal::cost)
      TRY_VOID(add_room(fleet, demand, plan, others ? &*others : nullptr, out.gpu_price, less_work, margin));
    margin.without = levels_of(std::move(others), less_work.levels);
    if (relaxed) margin.price = program.price_of(w, *relaxed);
    out.margins.push_back(std::move(margin));
  }
  for (std::size_t b = 0; b < boards.size() && next(boards[b]); ++b)
    out.gpus.push_back(TRY(margin_of(fleet, demand, plan, boards[b], less_work)));
  if (options.limits.stop && options.limits.stop()) drop_last(out);
  return out;
}

}  // namespace partita::fleet
