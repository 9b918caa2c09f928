// Synthetic traces: Poisson arrivals, exponential durations with mean 1, profiles by a mix.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/online/online_run.h"

namespace partita::fleet {

struct Mix {
  std::vector<double> shares;  // parallel to states.profiles(); sums are made 1
  double load = 1;             // offered memory slices over those of the fleet
  std::uint32_t gpus = 1;
  double movable = 0;  // share of requests that may be moved
};

// The same on every machine.
std::vector<Request> make_trace(const GpuStates& states, const Mix& mix, std::size_t requests, std::uint64_t seed);

}  // namespace partita::fleet
