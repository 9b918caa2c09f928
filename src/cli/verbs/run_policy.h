// The verbs policy and defrag.
#pragma once

#include "base/error.h"
#include "cli/command_line/parse.h"

namespace partita::cli {

Result<int> run_defrag(const Parsed& parsed);
Result<int> run_policy(const Parsed& parsed);
Result<int> run_policy_simulate(const Parsed& parsed);
Result<int> run_policy_tune(const Parsed& parsed);

}  // namespace partita::cli
