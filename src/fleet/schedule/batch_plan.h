// Jobs and timed leases beside a steady plan: what counts and services leave free is theirs; open kinds give as many
// more GPUs as they need.
#pragma once

#include <optional>
#include <vector>

#include "base/error.h"
#include "fleet/schedule/calendar.h"
#include "fleet/schedule/schedule.h"
#include "fleet/schedule/timed_file.h"

namespace partita::fleet {

// The fleet once a plan stands: what serves is pinned. Kinds are the plan's groups; open kinds stay open, behind them.
struct Room {
  Fleet fleet;
  std::vector<int> origin;  // per kind: index in the fleet that was planned
};
Room room_beside(const Fleet& fleet, const Plan* plan);  // nullptr: nothing is planned, all is free
// Less the GPUs that hold timed leases.
Room room_beside(Room room, const Calendar& calendar);

struct BatchPlan {
  Room room;  // open kinds with the count that is used
  Batch batch;
  Schedule schedule;
  std::int64_t added = 0;        // GPUs of an open kind that the jobs need beside what is in use
  std::int64_t added_bound = 0;  // with fewer no schedule meets the deadline
};

// `times` per kind of the fleet planned, as are the file's ways. Open fleets need a deadline: the fewest GPUs (of the
// kind where they cost least) with which the search meets it. `no_space` when a deadline cannot be met: says which one
// can.
Result<BatchPlan> plan_batch(const Room& room, const BatchFile& file,
                             const std::vector<std::vector<ReconfigureTime>>& times,
                             const ScheduleOptions& options = {});

struct LeasePlan {
  Room room;
  std::vector<TimedLease> leases;  // on the room's kinds
  Calendar calendar;
};
Result<LeasePlan> plan_timed_leases(const Room& room, const std::vector<TimedLease>& leases,
                                    const std::vector<std::vector<ReconfigureTime>>& times);

}  // namespace partita::fleet
