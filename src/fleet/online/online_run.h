// A trace of requests served by a policy, in simulated time.
//
// A request that finds no room waits up to the patience, then it is lost. What waits is served, when something ends
// (all that ends at one moment), in the order of arrival; smaller requests that fit pass larger ones that do not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.h"
#include "fleet/online/online.h"

namespace partita::fleet {

struct Request {
  double arrival = 0;         // in any unit of time; ascending over a trace
  double duration = 0;        // above 0, from when it is placed
  std::uint32_t profile = 0;  // position in states.profiles()
  bool movable = false;
};

struct Migration {
  double pause = 0;  // a moved job ends so much later
  // Beside moves that make room for a request: after a request that needed none, the best move, if the potential gains
  // more than this. nullopt: none.
  std::optional<double> least_gain;
};

struct RunOptions {
  std::uint32_t gpus = 1;
  double patience = 0;
  std::optional<Migration> migration{};
  double from = 0;          // requests that arrive earlier are served but not counted
  std::size_t samples = 0;  // of the state over time, at equal intervals from `from` to the last arrival
};

struct Served {  // requests of one profile
  std::int64_t asked = 0, accepted = 0;
  std::int64_t waited = 0;  // of those accepted
  double waiting = 0;       // sum over those accepted
};

struct Sample {
  double time = 0;
  int waiting = 0;           // requests
  double used = 0;           // share of memory slices in use
  double fragmentation = 0;  // share of free memory slices where requests, by the trace's mix, would find no room
};

struct RunResult {
  std::vector<Served> profiles;
  std::vector<double> waits;  // of the accepted that waited
  std::int64_t decisions = 0;
  std::int64_t moves = 0;
  std::vector<Sample> samples;
};

// Told of everything that happens; for tests.
struct RunEvent {
  enum class Is { placed, ended, moved };
  Is is = Is::placed;
  double time = 0;
  std::size_t request = 0;
  Spot spot, from;
};
using Watch = std::function<void(const RunEvent&)>;

RunResult run(const GpuStates& states, const Scores& scores, const std::vector<Request>& trace,
              const RunOptions& options, const Watch& watch = {});

}  // namespace partita::fleet
