#include "fleet/exact/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fleet/exact/check.h"
#include "fleet/exact/closed_form.h"
#include "fleet/exact/expand.h"
#include "fleet/exact/program.h"
#include "fleet/exact/shortage.h"
#include "fleet/exact/validate.h"
#include "fleet/solver/minimise.h"

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void set_costs(IntegerProgram& program, const Program::Level& level) {
  for (auto& column : program.columns) column.cost = 0;
  for (const auto& term : level.terms) program.columns[at(term.column)].cost += term.value;
}

// From here on, no plan worse in this level. The slack is what the solver loses by rounding, but less than a step.
void hold(IntegerProgram& program, const Program::Level& level, double value) {
  double slack = 1e-7;
  for (const auto& term : level.terms) slack = std::max(slack, 1e-7 * std::abs(term.value));
  if (level.grain > 0) slack = std::min(slack, level.grain / 4);
  IntegerProgram::Row row{-kUnbounded, value + slack, {}};
  for (const auto& term : level.terms)
    if (term.value > value + slack && program.columns[at(term.column)].integer)
      program.columns[at(term.column)].upper = 0;  // one would be too much, and large numbers cost the others digits
    else
      row.terms.push_back(term);
  program.add_row(std::move(row));
}

double sum_of(const Program::Level& level, const std::vector<double>& values) {
  double out = 0;
  for (const auto& term : level.terms) out += term.value * values[at(term.column)];
  return out;
}

// GPUs of a bin that take an option are spread over the bin's kinds; of open kinds the first has them all.
std::vector<Chosen> chosen_of(const Fleet& fleet, const Program& program, const std::vector<double>& values) {
  const auto room_of = [&](int kind) {
    return fleet.kinds[at(kind)].count.value_or(std::numeric_limits<std::int64_t>::max());
  };
  std::vector<Chosen> out;
  for (const auto& bin : program.bins) {
    std::size_t k = 0;
    std::int64_t room = room_of(bin.kinds[k]);
    for (std::size_t o = 0; o < bin.columns.size(); ++o) {
      auto left = static_cast<std::int64_t>(std::llround(values[at(bin.columns[o])]));
      while (left > 0 && k < bin.kinds.size()) {
        const auto n = std::min(left, room);
        if (n > 0) out.push_back({bin.kinds[k], &program.options[at(bin.kinds[k])][o], n});
        left -= n;
        room -= n;
        if (room == 0 && ++k < bin.kinds.size()) room = room_of(bin.kinds[k]);
      }
    }
  }
  std::ranges::stable_sort(out, {}, &Chosen::kind);
  return out;
}

Result<Plan> by_program(const Fleet& fleet, const Demand& demand, const SolveOptions& options) {
  const Program program(fleet, demand);
  IntegerProgram stage = program.base;
  Plan plan;
  plan.method = "integer program";
  std::vector<double> values;
  int rank = 0;
  for (const auto& level : program.levels(demand.goal)) {
    const bool first = rank++ == 0;
    if (!first && level.terms.empty()) {
      plan.levels.push_back({level.name, level.constant, level.constant});
      continue;
    }
    if (!first && rank > options.levels) break;
    set_costs(stage, level);
    const auto solved = minimise(stage, options.limits, level.grain, values);
    plan.nodes += solved.nodes;
    plan.stopped = plan.stopped || solved.stopped;
    if (solved.values.empty() && !first) {  // the plan stands; nothing is proven here
      plan.levels.push_back({level.name, sum_of(level, values) + level.constant, level.constant});
      hold(stage, level, sum_of(level, values));
      continue;
    }
    if (solved.values.empty()) {
      if (solved.status == IntegerSolution::Status::infeasible) return std::unexpected(shortage(fleet, demand));
      if (solved.stopped || (options.limits.stop && options.limits.stop()))
        return fail(ErrorCode::unavailable, "the clock ended the search before a plan was found: allow more time");
      return fail(ErrorCode::unavailable,
                  fmt::format("no plan was found within {} nodes of search: allow more", options.limits.nodes));
    }
    values = solved.values;
    plan.levels.push_back({level.name, solved.objective + level.constant, solved.bound + level.constant});
    hold(stage, level, solved.objective);
  }
  plan.groups = TRY(expand(fleet, program.classes, chosen_of(fleet, program, values), program.served(values)));
  const auto sums = totals(fleet, plan);
  for (auto& level : plan.levels) {
    level.value = value_of(sums, level.name).value_or(level.value);  // a name that is none is refused below
    level.bound = std::min(level.bound, level.value);
  }
  TRY_VOID(validate(fleet, demand, plan));  // a plan that is wrong is worse than none
  return plan;
}

}  // namespace

Result<Plan> solve(const Fleet& fleet, const Demand& demand, const SolveOptions& options) {
  TRY_VOID(check(fleet, demand));
  if (options.closed_form)
    if (auto plan = closed_form(fleet, demand)) return std::move(*plan);
  return by_program(fleet, demand, options);
}

Result<std::optional<double>> most_of(const Fleet& fleet, const Demand& demand, std::size_t w, double budget,
                                      const SolveOptions& options, std::optional<double> known) {
  TRY_VOID(check(fleet, demand));
  return most_within(fleet, demand, w, budget, options.limits, known);
}

}  // namespace partita::fleet
