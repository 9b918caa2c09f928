// What one operation works with, from the moment it holds the lock.
#pragma once

#include <vector>

#include "api/measures.h"
#include "base/clock.h"
#include "base/progress.h"
#include "driver/driver.h"
#include "node/epoch.h"
#include "node/ledger.h"
#include "node/node.h"
#include "node/pins.h"

namespace partita::node {

struct Context {
  driver::Driver& driver;
  Ledger& ledger;
  const Clock& clock;
  const Options& options;
  Epoch epoch;
  Progress& progress;
  bool adopt = false;
  bool force = false;
  std::vector<RefusedPlace> refused;  // destroys answered IN_USE in this operation
  std::vector<LeasedPlace> leased;
  api::Measures measures{};  // of what was done so far
  // What others made in the way of an open operation stays theirs, and the rest of the old layout comes back: where
  // leases wait for the GPU. Else the operation stays open until an apply with --force.
  bool beside_others = false;
};

// The node as the driver tells it, with pins. Marks that no live instance bears out are dropped from the ledger.
Result<layout::NodeState> read_node(Context& context);

}  // namespace partita::node
