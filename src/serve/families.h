// The node as metric families. Inside serve/ only.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/lease.h"
#include "api/measures.h"
#include "api/node.h"
#include "base/clock.h"

namespace partita::serve {

using Families = std::vector<prometheus::MetricFamily>;

// Whose each GPU instance is: (GPU UUID, GPU instance id or -1 for the whole GPU).
using Holders = std::map<std::pair<std::string, int>, const api::Lease*>;
Holders holders_of(const std::vector<api::Lease>& leases);

Families gpu_families(const api::StatusAnswer& status, const Holders& holders);
Families instance_families(const api::StatusAnswer& status, const Holders& holders);
Families lease_families(const std::vector<api::Lease>& leases, Time now);
Families measure_families(const api::Measures& measures);

// One value of a family.
void add_gauge(prometheus::MetricFamily& family, double value,
               std::vector<prometheus::ClientMetric::Label> labels = {});
prometheus::MetricFamily gauge_family(std::string name, std::string help);

}  // namespace partita::serve
