// Is the node as asked? By counts per profile, as mig-parted asserts; placements count where they are asked for.
#pragma once

#include <span>
#include <vector>

#include "api/node.h"
#include "base/error.h"

namespace partita::node {

struct Differences {
  std::vector<api::Difference> mode;
  std::vector<api::Difference> instances;
};

// On the GPUs of the targets.
Differences compare(const layout::NodeState& state, std::span<const layout::GpuTarget> targets, bool mode_only);

// The whole answer: every GPU of the node must be asked for, too.
Result<api::AssertAnswer> check_node(const layout::NodeState& state, const api::PlanRequest& request);

}  // namespace partita::node
