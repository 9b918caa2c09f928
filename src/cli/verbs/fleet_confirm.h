// plan --fleet --confirm: the planned services played on times that the plan has not seen.
#pragma once

#include "cli/draw/draw_fleet.h"

namespace partita::cli {

Result<void> confirm_services(int runs, FleetAnswer& answer);

}  // namespace partita::cli
