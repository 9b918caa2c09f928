// What leases and jobs with times change: found by planning again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/schedule/batch_plan.h"

namespace partita::fleet {

struct LeaseMargin {
  int lease = 0;            // index in the leases planned
  bool at_peak = false;     // it runs at the moment that needs the most
  double cost_without = 0;  // of all others
};

// Those at the peak first, at most `most`; fewer where `stop` says so (empty: never).
Result<std::vector<LeaseMargin>> explain_leases(const Room& room, const std::vector<TimedLease>& leases,
                                                const std::vector<std::vector<ReconfigureTime>>& times,
                                                const LeasePlan& plan, const std::function<bool()>& stop = {},
                                                std::size_t most = 12);

struct BatchMargin {
  int last = 0;                      // the job that ends last
  double alone_s = 0;                // when it would end at the earliest if it was alone
  std::string board;                 // of the GPU that is less or more
  std::optional<double> less, more;  // the goal's value then; nullopt: not all jobs run
  bool stopped = false;              // by the clock: neither is known
};

// Both schedules are looked for as long as the plan's was, side by side.
Result<BatchMargin> explain_batch(const BatchPlan& plan, const ScheduleOptions& options = {});

}  // namespace partita::fleet
