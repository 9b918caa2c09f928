// Is a plan what it says? Checked by the board's facts and arithmetic alone: nothing is shared with the planner.
#pragma once

#include "base/error.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

// `internal` names the first thing that is wrong: a placement that is not legal, a pinned instance that moved, GPUs
// that are too many or missing, a want that is not met, a level whose value is not the plan's.
Result<void> validate(const Fleet& fleet, const Demand& demand, const Plan& plan);

}  // namespace partita::fleet
