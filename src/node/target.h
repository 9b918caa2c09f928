// From what is asked to what each GPU shall look like.
#pragma once

#include <string>
#include <vector>

#include "api/node.h"
#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"

namespace partita::node {

// A label or a checkpoint as targets per GPU. A demand has none of its own: plan_demand() places it.
Result<layout::NodeTarget> resolve_wanted(const api::Wanted& wanted, const layout::NodeState& state);

// Where a demand goes on the GPUs with MIG on, as exact targets for the GPUs that change, and those alone. `force`
// plans as if nothing were pinned.
Result<layout::NodeTarget> resolve_demand(const api::DemandRequest& request, const layout::NodeState& state,
                                          bool force);

// Either of the two.
Result<layout::NodeTarget> resolve(const api::Wanted& wanted, const layout::NodeState& state, bool force);

}  // namespace partita::node
