// How much of a demand fits: why there is no plan, and what a budget can hold. Inside fleet/ only.
#pragma once

#include <optional>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/solver/integer_program.h"

namespace partita::fleet {

// `no_space`: per want how much of it fits when the least share is left out, and whether it would fit if nothing was
// pinned. Never called when it fits.
Error shortage(const Fleet& fleet, const Demand& demand);

Result<std::optional<double>> most_within(const Fleet& fleet, const Demand& demand, std::size_t w, double budget,
                                          const WorkLimits& limits, std::optional<double> known = {});

}  // namespace partita::fleet
