// Schedules for batch jobs. Found by simulated annealing, with a bound from a linear program.
//
// Each GPU has an order of places, of which it cuts those that get jobs, in turn: large ones first, then what they
// split into; small ones first, merged later; or small, large, small. A job is put on a place of a GPU; what follows
// from that (timeline.h) is the cost. FAR (Villarrubia et al., JPDC 204, 2025) splits in the same way; it assigns
// greedily.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "fleet/schedule/jobs.h"

namespace partita::fleet {

struct ScheduleOptions {
  std::int64_t steps = 0;  // of the search; 0: as many as it asks for, 700,000 or 2,500 for each job
  double enough_s = 0;     // a makespan with which the search ends, without a bound; 0: the bound is looked for
  std::function<bool()> stop = {};  // asked all along; empty: never
};

// Deterministic unless stopped. `invalid` when batch or fleet are not well formed; kinds need counts. `impossible` when
// a job fits on no GPU as it is: says which.
Result<Schedule> schedule(const Fleet& fleet, const Batch& batch, const ScheduleOptions& options = {});

// Is a schedule what it says? By the board's facts and arithmetic alone; nothing is shared with the search. `internal`
// names the first thing that is wrong: places that are not legal or overlap in time, two reconfigurations of a GPU at
// once, times that are not the batch's, jobs that are missing, run twice or too early, sums that are not the
// schedule's.
Result<void> validate(const Fleet& fleet, const Batch& batch, const Schedule& schedule);

}  // namespace partita::fleet
