// What holds a plan where it is, and what a little more or less would change: found by planning again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/exact/solve.h"

namespace partita::fleet {

// What is short: without more of it no plan is cheaper. "memory slices", "compute slices", "places for 4g.40gb"; else
// "how the pieces fit together". "what is pinned" where no other GPU is needed.
struct Binding {
  std::string resource;
  double least_cost = 0;  // that this resource alone asks for, GPUs and instances divided at will
  bool binds = false;     // it alone makes the plan least
};

// Another plan's quantities, as Plan::levels: the first of Goal::cost, the first two of others.
using Otherwise = std::optional<std::vector<Level>>;  // nullopt: there is no plan, or none was found

// One want changed, all others kept.
struct Margin {
  int want = 0;
  Otherwise without;  // left out; nullopt: it is the only one
  // For Goal::cost.
  std::optional<double> cheaper;  // how much of it fits with one GPU less; nullopt: the others alone need as many
  double here = 0;                // how much of it fits at this plan's cost
  double roomier = 0;             // and with one GPU more
  double price = 0;               // what one more of it costs in the long run (relaxation)
};

// One GPU of a board changed, the demand kept.
struct GpuMargin {
  std::string board;  // id
  Otherwise less;     // without the one that holds least; of open kinds: without one of those in use
  Otherwise more;     // with one more that is empty; nullopt: as many as are needed are there already
};

struct Explanation {
  std::vector<Binding> bindings;  // strongest first; for Goal::cost
  std::vector<Margin> margins;    // per want, at most `most_wants`
  std::vector<GpuMargin> gpus;    // per board, at most kMostBoards; empty for fleets of one open kind
  double gpu_price = 0;           // of the GPU that "one less, one more" is: the cheapest
  bool stopped = false;           // by the clock: what was not made by then is left out
};

inline constexpr std::size_t kMostBoards = 6;
// Nodes of search per plan made again: at most these, and at most options.limits; fewer where many plans are made.
inline constexpr int kExplainNodes = 500;
inline constexpr int kExplainNodesInAll = 1'500;

// `progress`: told as each want and board begins, counted from 1, and of how many.
using ExplainProgress = std::function<void(int done, int total, const std::string& what)>;
Result<Explanation> explain(const Fleet& fleet, const Demand& demand, const Plan& plan, const SolveOptions& options,
                            const ExplainProgress& progress = {}, std::size_t most_wants = 12);

// The same fleet with an empty GPU more of the board of kind `like`, and what may serve on it.
void add_empty_gpu(Fleet& fleet, Demand& demand, std::size_t like);

}  // namespace partita::fleet
