#include "fleet/solver/minimise.h"

#include <algorithm>
#include <cmath>

namespace partita::fleet {

namespace {

constexpr double kWhole = 1e-6;
constexpr std::size_t kSmall = 600;  // columns: such programs are solved at once

bool done(const IntegerSolution& solution) { return solution.status == IntegerSolution::Status::optimal; }

double round_up(double bound, double grain) { return grain > 0 ? grain * std::ceil((bound / grain) - kWhole) : bound; }

// Only columns that the relaxation uses, or could at no cost, each near its value there. nullopt: nothing was narrowed.
std::optional<IntegerProgram> near(const IntegerProgram& program, const LinearSolution& relaxed, double reach) {
  IntegerProgram out = program;
  bool narrowed = false;
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    auto& column = out.columns[i];
    if (!column.integer) continue;
    const double value = relaxed.values[i];
    const double lower = std::max(column.lower, std::floor(value + kWhole) - reach);
    const double upper = value < kWhole && relaxed.reduced_costs[i] > kWhole
                             ? column.lower
                             : std::min(column.upper, std::ceil(value - kWhole) + reach);
    narrowed = narrowed || lower > column.lower || upper < column.upper;
    column.lower = lower;
    column.upper = std::max(lower, upper);
  }
  if (!narrowed) return std::nullopt;
  return out;
}

// Without columns that no solution better than `best` uses.
IntegerProgram without_costly(const IntegerProgram& program, const LinearSolution& relaxed, double best, double grain) {
  IntegerProgram out = program;
  const double room = best - (grain > 0 ? grain * (1 - 1e-4) : 0) - relaxed.objective;
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    auto& column = out.columns[i];
    const double cost = relaxed.reduced_costs[i];
    if (!column.integer || std::abs(cost) < kWhole) continue;
    const double steps = std::floor((room / std::abs(cost)) + kWhole);
    if (cost > 0 && relaxed.values[i] < column.lower + kWhole)
      column.upper = std::max(column.lower, std::min(column.upper, column.lower + std::max(0.0, steps)));
    else if (cost < 0 && relaxed.values[i] > column.upper - kWhole)
      column.lower = std::min(column.upper, std::max(column.lower, column.upper - std::max(0.0, steps)));
  }
  return out;
}

}  // namespace

IntegerSolution minimise(const IntegerProgram& program, const WorkLimits& limits, double grain,
                         std::span<const double> start) {
  if (program.columns.size() <= kSmall) return solve(program, limits, grain, start);
  const auto relaxed = relax(program);
  IntegerSolution best;
  if (!relaxed) {
    best.status = IntegerSolution::Status::infeasible;
    return best;
  }
  const double bound = round_up(relaxed->objective, grain);
  const auto settle = [&](IntegerSolution found) {
    if (found.values.empty() || (!best.values.empty() && found.objective >= best.objective - 1e-9)) {
      best.nodes += found.nodes;
      return;
    }
    found.nodes += best.nodes;
    best = std::move(found);
  };
  const auto finished = [&] {
    if (best.values.empty() || best.objective > bound + 1e-7) return false;
    best.bound = best.objective;
    best.status = IntegerSolution::Status::optimal;
    return true;
  };
  if (!start.empty()) {
    best.values.assign(start.begin(), start.end());
    best.status = IntegerSolution::Status::feasible;
    for (std::size_t i = 0; i < start.size(); ++i) best.objective += program.columns[i].cost * start[i];
    if (finished()) return best;
  }
  WorkLimits few = limits;
  few.nodes = std::max(1, limits.nodes / 20);
  for (const double reach : {0.0, 2.0}) {
    if (const auto narrow = near(program, *relaxed, reach)) settle(solve(*narrow, few, grain));
    if (finished()) return best;
  }
  const bool known = !best.values.empty();
  const int before = best.nodes;
  auto rest = solve(known ? without_costly(program, *relaxed, best.objective, grain) : program, limits, grain);
  if (!known) {
    rest.nodes += before;
    return rest;
  }
  // What was left out holds nothing better, so an empty rest proves the best.
  const double proven = done(rest)                                           ? rest.objective
                        : rest.status == IntegerSolution::Status::infeasible ? best.objective
                                                                             : std::max(bound, rest.bound);
  const bool stopped = rest.stopped;
  settle(std::move(rest));
  best.stopped = stopped;
  best.bound = std::min(best.objective, proven);
  best.status =
      best.bound >= best.objective - 1e-7 ? IntegerSolution::Status::optimal : IntegerSolution::Status::feasible;
  return best;
}

}  // namespace partita::fleet
