// What doctor tells about leases: who is limited by what, how programs are kept apart, and which leases are in trouble.
#pragma once

#include <vector>

#include "api/node.h"
#include "node/node.h"

namespace partita::node {

// `driver` or `state` null: it could not be opened or read.
std::vector<api::Finding> lease_findings(const Options& options, driver::Driver* driver,
                                         const layout::NodeState* state);

}  // namespace partita::node
