// What sharing costs a tenant: the same tenant with the same seed, alone.
#pragma once

#include <vector>

#include "study/simulator.h"

namespace partita::study {

// The scenario with only this tenant: same servers, same draws of arrivals and service times, nobody beside it. A
// vGPU's equal or fixed share is then that of a VM without others.
Scenario alone(const Scenario& scenario, std::size_t tenant);

struct Isolation {
  double throughput_loss = 0;  // 1 - shared / alone; below 0 only by chance
  double p99_ratio = 1;        // shared / alone; infinite when overloaded only beside the others
};

// One per tenant; costs one more simulation for each. nullopt for tenants that are not admitted, complete nothing, or
// are overloaded even alone.
Result<std::vector<std::optional<Isolation>>> isolation(const Scenario& scenario, const SimulationResult& shared);

}  // namespace partita::study
