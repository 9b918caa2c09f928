// Linear and integer programs: minimise cost over columns within rows. The only door to the solver (CBC).
//
// Repeatable: one thread, fixed seeds, work counted in nodes of the search tree. `stop` may end a search earlier; its
// answer then depends on the machine, and `stopped` says so.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace partita::fleet {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct IntegerProgram {
  struct Column {
    double cost = 0;
    double lower = 0, upper = kUnbounded;
    bool integer = true;
  };
  struct Term {
    int column = 0;
    double value = 0;
  };
  struct Row {
    double lower = -kUnbounded, upper = kUnbounded;
    std::vector<Term> terms;  // each column at most once
  };
  std::vector<Column> columns;
  std::vector<Row> rows;

  int add_column(Column column);
  void add_row(Row row) { rows.push_back(std::move(row)); }
};

struct WorkLimits {
  int nodes = 2'000;
  std::function<bool()> stop;  // asked between nodes; empty: never
};

struct IntegerSolution {
  enum class Status { optimal, feasible, infeasible, unknown };  // unknown: nothing found within the limits
  Status status = Status::unknown;
  std::vector<double> values;  // integers exactly; empty unless optimal or feasible
  double objective = 0;
  double bound = -kUnbounded;  // no solution is better than this
  int nodes = 0;
  bool stopped = false;  // by `stop`
};

// `start`: values of a known solution, or empty. `grain`: every solution's objective is a multiple of it (0: unknown);
// a bound is then rounded up to the next one.
IntegerSolution solve(const IntegerProgram& program, const WorkLimits& limits, double grain = 0,
                      std::span<const double> start = {});

struct LinearSolution {
  std::vector<double> values;
  std::vector<double> row_prices;     // what one more unit of a row's bound costs
  std::vector<double> reduced_costs;  // per column
  double objective = 0;
};
// The same with fractions allowed; nullopt when it has no solution.
std::optional<LinearSolution> relax(const IntegerProgram& program);

}  // namespace partita::fleet
