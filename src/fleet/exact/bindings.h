// What each resource of a fleet alone asks for. Inside fleet/ only.
#pragma once

#include <vector>

#include "fleet/exact/explain.h"

namespace partita::fleet {

// `grain`: costs of plans are multiples of it (0: unknown). Strongest first.
std::vector<Binding> bindings_of(const Fleet& fleet, const Demand& demand, double cost, double grain);

}  // namespace partita::fleet
