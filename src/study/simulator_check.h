// What simulate() asks of a scenario before it starts, and who is let in.
#pragma once

#include <vector>

#include "study/simulator.h"

namespace partita::study {

// `invalid` names the tenant, server or reconfiguration, the field, what was expected and what was found.
Result<void> check(const Scenario& scenario);

// Per tenant: its memory fits beside those of its server that come before it and are admitted.
std::vector<bool> admitted(const Scenario& scenario);

}  // namespace partita::study
