// Are fleet and demand well formed? Inside fleet/ only.
#pragma once

#include "base/error.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

// `invalid` names the kind or the want, and what was expected and found.
Result<void> check(const Fleet& fleet, const Demand& demand);

}  // namespace partita::fleet
