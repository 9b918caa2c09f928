// What holds a plan where it is, and what a little more or less would change. For Goal::cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/fleet.h"
#include "fleet/solve.h"

namespace partita::fleet {

// What is short: without more of it no plan is cheaper. On one board: "memory slices", "compute slices", "places for
// 4g.40gb"; else "how the pieces fit together".
struct Binding {
  std::string resource;
  double least_gpus = 0;  // that this resource alone asks for
  bool binds = false;     // it alone makes the plan least
};

// One want moved, all others kept.
struct Margin {
  int want = 0;
  std::optional<double> cheaper;  // how much of it fits with one GPU less; nullopt: the others alone need as many
  double here = 0;                // how much of it fits at this plan's cost
  double roomier = 0;             // and with one GPU more
  double price = 0;               // what one more of it costs in the long run (relaxation)
};

struct Explanation {
  std::vector<Binding> bindings;  // strongest first; for fleets of one empty board
  std::vector<Margin> margins;    // per want, at most `most_wants`
  double gpu_price = 0;           // of the GPU that "one less, one more" is: the cheapest
};

// Three searches per want of at most options.limits each.
Result<Explanation> explain(const Fleet& fleet, const Demand& demand, const Plan& plan, const SolveOptions& options,
                            std::size_t most_wants = 12);

}  // namespace partita::fleet
