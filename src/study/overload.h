// Open arrivals beyond capacity: found from the inputs where these are certain, and from the growth of the queue.
#pragma once

#include <vector>

#include "study/simulator.h"
#include "study/tenant_stats.h"

namespace partita::study {

// An open tenant's queue is cut here: requests beyond are counted, not kept, and the tenant is overloaded.
constexpr std::size_t kLongestQueue = 1 << 20;

// Tenants whose mean work per second is not below the share of the server that they could have at best, in the largest
// useful batches. Servers that are reconfigured are left out: their capacity changes.
std::vector<bool> certainly_overloaded(const Scenario& scenario, const std::vector<bool>& admitted);

// The number in the system grew since the warm-up by more than chance explains (6 standard deviations of a Poisson
// count, more for on-off arrivals and varying service), or requests were cut.
bool queue_grows(const Tenant& tenant, const TenantStats& stats);

}  // namespace partita::study
