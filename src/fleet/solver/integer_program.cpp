#include "fleet/solver/integer_program.h"

#include <algorithm>
#include <cmath>
#include <coin/CbcEventHandler.hpp>
#include <coin/CbcHeuristicDiveCoefficient.hpp>
#include <coin/CbcHeuristicFPump.hpp>
#include <coin/CbcHeuristicLocal.hpp>
#include <coin/CbcHeuristicRINS.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CglGomory.hpp>
#include <coin/CglKnapsackCover.hpp>
#include <coin/CglMixedIntegerRounding2.hpp>
#include <coin/CglPreProcess.hpp>
#include <coin/CglProbing.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

namespace partita::fleet {

namespace {

constexpr double kWhole = 1e-6;  // an LP value this near to an integer is one

void load(const IntegerProgram& program, OsiClpSolverInterface& solver, bool integers, double scale = 1) {
  const auto n = program.columns.size();
  std::vector<double> cost(n), lower(n), upper(n);
  const double infinity = solver.getInfinity();
  const auto finite = [&](double value) { return std::clamp(value, -infinity, infinity); };
  for (std::size_t i = 0; i < n; ++i) {
    cost[i] = program.columns[i].cost * scale;
    lower[i] = finite(program.columns[i].lower);
    upper[i] = finite(program.columns[i].upper);
  }
  std::vector<CoinBigIndex> begin{0};
  std::vector<int> index;
  std::vector<double> value, row_lower, row_upper;
  for (const auto& row : program.rows) {
    for (const auto& term : row.terms) {
      index.push_back(term.column);
      value.push_back(term.value);
    }
    begin.push_back(static_cast<CoinBigIndex>(index.size()));
    row_lower.push_back(finite(row.lower));
    row_upper.push_back(finite(row.upper));
  }
  const CoinPackedMatrix matrix(false, static_cast<int>(n), static_cast<int>(program.rows.size()),
                                static_cast<CoinBigIndex>(index.size()), value.data(), index.data(), begin.data(),
                                nullptr);
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  solver.loadProblem(matrix, lower.data(), upper.data(), cost.data(), row_lower.data(), row_upper.data());
  if (!integers) return;
  for (std::size_t i = 0; i < n; ++i)
    if (program.columns[i].integer) solver.setInteger(static_cast<int>(i));
}

bool whole(const IntegerProgram& program, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (program.columns[i].integer && std::abs(values[i] - std::round(values[i])) > kWhole) return false;
  return true;
}

std::vector<double> rounded(const IntegerProgram& program, std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (program.columns[i].integer) out[i] = std::round(out[i]);
  return out;
}

double cost_of(const IntegerProgram& program, std::span<const double> values) {
  double cost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) cost += program.columns[i].cost * values[i];
  return cost;
}

double rounded_up(double bound, double grain) {
  return grain > 0 ? grain * std::ceil((bound / grain) - kWhole) : bound;
}

class StopHandler final : public CbcEventHandler {
 public:
  explicit StopHandler(const std::function<bool()>* ask) : stop_(ask) {}
  CbcEventHandler* clone() const override { return new StopHandler(*this); }
  CbcAction event(CbcEvent) override { return *stop_ && (*stop_)() ? CbcEventHandler::stop : noAction; }

 private:
  const std::function<bool()>* stop_;
};

// Few columns and whole numbers alone: such programs are nearly solved by their relaxation, and setting up everything
// would take longer than the search.
bool light(const IntegerProgram& program) {
  constexpr std::size_t kFew = 600;
  const auto whole_number = [](const IntegerProgram::Term& term) { return term.value == std::round(term.value); };
  return program.columns.size() <= kFew && std::ranges::all_of(program.rows, [&](const IntegerProgram::Row& row) {
           return std::ranges::all_of(row.terms, whole_number);
         });
}

void equip_lightly(CbcModel& model) {
  CglGomory gomory;
  gomory.setLimit(300);
  model.addCutGenerator(&gomory, -1, "gomory");
  CbcRounding simple(model);
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&simple);
  model.addHeuristic(&dive);
  model.setMaximumCutPassesAtRoot(3);
  model.setMaximumCutPasses(2);
}

void equip(CbcModel& model) {
  CglProbing probing;
  probing.setMaxPass(1);
  probing.setRowCuts(3);
  CglGomory gomory;
  gomory.setLimit(300);
  CglKnapsackCover knapsack;
  CglMixedIntegerRounding2 rounding;
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&gomory, -1, "gomory");
  model.addCutGenerator(&knapsack, -1, "knapsack");
  model.addCutGenerator(&rounding, -1, "rounding");
  model.setMaximumCutPassesAtRoot(20);
  model.setMaximumCutPasses(2);
  CbcRounding simple(model);
  CbcHeuristicDiveCoefficient dive(model);
  CbcHeuristicRINS neighbours(model);
  neighbours.setHowOften(50);
  model.addHeuristic(&simple);
  model.addHeuristic(&dive);
  model.addHeuristic(&neighbours);
}

}  // namespace

int IntegerProgram::add_column(Column column) {
  columns.push_back(column);
  return static_cast<int>(columns.size()) - 1;
}

std::optional<LinearSolution> relax(const IntegerProgram& program) {
  OsiClpSolverInterface solver;
  load(program, solver, false);
  solver.initialSolve();
  if (!solver.isProvenOptimal()) return std::nullopt;
  LinearSolution out;
  const auto n = program.columns.size();
  const auto rows = program.rows.size();
  out.values.assign(solver.getColSolution(), solver.getColSolution() + n);
  out.reduced_costs.assign(solver.getReducedCost(), solver.getReducedCost() + n);
  out.row_prices.assign(solver.getRowPrice(), solver.getRowPrice() + rows);
  out.objective = solver.getObjValue();
  return out;
}

IntegerSolution solve(const IntegerProgram& program, const WorkLimits& limits, double grain,
                      std::span<const double> start) {
  IntegerSolution out;
  OsiClpSolverInterface solver;
  // The solver's tolerances are absolute: steps of the objective are 1 to it.
  const double scale = grain > 0 ? 1 / grain : 1;
  load(program, solver, true, scale);
  solver.initialSolve();
  if (!solver.isProvenOptimal()) {
    out.status = IntegerSolution::Status::infeasible;
    return out;
  }
  const auto n = program.columns.size();
  const auto take = [&](std::span<const double> values) {
    out.values = rounded(program, values);
    out.objective = cost_of(program, out.values);
    out.status = IntegerSolution::Status::feasible;
  };
  const auto close_enough = [&] {
    return out.bound >= out.objective - (grain > 0 ? grain / 2 : std::max(1e-9, 1e-9 * std::abs(out.objective)));
  };
  out.bound = rounded_up(solver.getObjValue() / scale, grain);
  const std::span<const double> relaxed(solver.getColSolution(), n);
  if (whole(program, relaxed)) {
    take(relaxed);
    out.bound = out.objective;
    out.status = IntegerSolution::Status::optimal;
    return out;
  }
  if (!start.empty()) {
    take(start);
    if (close_enough()) {
      out.status = IntegerSolution::Status::optimal;
      return out;
    }
  }
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setRandomSeed(1);
  model.setMaximumNodes(limits.nodes);
  model.setAllowableGap(1e-9);
  model.setAllowableFractionGap(0);
  model.setPrintFrequency(0);
  if (grain > 0) model.setCutoffIncrement(1 - 1e-4);
  if (!start.empty()) model.setBestSolution(out.values.data(), static_cast<int>(n), out.objective * scale, true);
  if (limits.stop) {
    StopHandler handler(&limits.stop);
    model.passInEventHandler(&handler);
  }
  if (light(program))
    equip_lightly(model);
  else
    equip(model);
  model.branchAndBound();
  out.nodes = model.getNodeCount();
  out.stopped = limits.stop && model.status() == 5;
  if (model.isProvenInfeasible() && start.empty()) {
    out.status = IntegerSolution::Status::infeasible;
    return out;
  }
  if (const double* best = model.bestSolution(); best != nullptr) {
    const auto before = out.objective;
    const bool had = !out.values.empty();
    if (!had || model.getObjValue() / scale < before - 1e-9) take(std::span(best, n));
  }
  if (model.isProvenOptimal())
    out.bound = out.values.empty() ? out.bound : out.objective;
  else
    out.bound = std::max(out.bound, rounded_up(model.getBestPossibleObjValue() / scale, grain));
  if (!out.values.empty() && (model.isProvenOptimal() || close_enough())) {
    out.bound = out.objective;
    out.status = IntegerSolution::Status::optimal;
  }
  return out;
}

}  // namespace partita::fleet
