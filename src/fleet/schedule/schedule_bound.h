// What no schedule is below. Inside fleet/ only.
#pragma once

#include "fleet/schedule/jobs.h"

namespace partita::fleet {

// In seconds, of what the batch's goal makes least. Makespan: jobs may be divided over sizes, instances over time at
// will (a linear program over places; each unit of a GPU holds one instance at a time); no job ends before its own
// fastest way. Mean completion: as if the fleet were one machine that does each job in its least area (squashed area
// bound: Turek et al., SPAA 1994), and each job alone.
double bound_of(const Fleet& fleet, const Batch& batch);

}  // namespace partita::fleet
