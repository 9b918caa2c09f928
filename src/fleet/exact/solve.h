// The least plan for a demand on a fleet. Exact, with bounds where the work limits end the search.
//
// Each kind of GPU offers options (patterns.h); an integer program says how many GPUs take which, and how many
// instances of each class serve which want. Kinds whose options are alike are one row. The goal's quantities are made
// least one after the other. Fleets of one empty board with whole counts need no program (closed_form.h).
#pragma once

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/solver/integer_program.h"

namespace partita::fleet {

struct SolveOptions {
  WorkLimits limits;
  bool closed_form = true;  // use it where it applies
  int levels = 3;           // how many quantities of the goal are made least
};

// `invalid` when fleet or demand are not well formed. `no_space` when GPUs with counts cannot hold the demand: says
// what is short and the largest share that fits. `impossible` when no number of such GPUs could. `unavailable` when the
// work limits ended before any plan was found.
Result<Plan> solve(const Fleet& fleet, const Demand& demand, const SolveOptions& options = {});

// The largest amount of want `w` beside all others within a cost of `budget` (Goal::cost only); nullopt when the others
// alone do not fit. Proven within the limits, else the best found. `known`: an amount that is known to fit; nothing is
// searched where no plan has 0.1 % more.
Result<std::optional<double>> most_of(const Fleet& fleet, const Demand& demand, std::size_t w, double budget,
                                      const SolveOptions& options = {}, std::optional<double> known = {});

}  // namespace partita::fleet
