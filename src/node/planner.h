// From targets to what happens to each GPU: mode changes, resets with their NVLink peers, and the steps between
// layouts. Pure: reads no device.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/node.h"
#include "base/error.h"
#include "node/records.h"

namespace partita::node {

struct PlanOptions {
  bool mode_only = false;
  bool skip_reset = false;
  bool force = false;  // plan as if nothing were pinned
};

// One GPU that changes.
struct GpuWork {
  layout::GpuTarget asked;  // in the indices of change.board
  api::GpuChange change;
  OperationGpu record;  // from which exact layout to which
  bool resets = false;  // it is reset, for itself or with a peer: all its instances go and come again
};

struct TargetPlan {
  std::vector<GpuWork> works;
  std::vector<std::string> unchanged;  // UUIDs
  std::vector<std::string> hits;  // with force: "GPU 3: 3g.20gb@4: pid 4711 (python)" for each pinned one destroyed
};

// `state` with pins. With MIG still off the steps refer to the catalog's board: what the driver offers is known only
// once the mode is on.
Result<TargetPlan> plan_targets(const layout::NodeState& state, std::span<const layout::GpuTarget> targets,
                                const PlanOptions& options);

api::NodePlanAnswer answer_of(const layout::NodeState& state, const TargetPlan& plan,
                              std::vector<std::string> warnings);

}  // namespace partita::node
