// The part of plan that plans fleets.
#pragma once

#include "base/error.h"
#include "cli/command_line/parse.h"

namespace partita::cli {

Result<int> run_plan_fleet(const Parsed& parsed);

}  // namespace partita::cli
