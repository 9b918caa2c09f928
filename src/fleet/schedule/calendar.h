// Leases that begin and end at known times: how many GPUs so that none of them waits, and which runs where.
//
// No instance moves while it is leased. Between two leases on one place nothing is cut; where they differ, the GPU is
// recut in between, which takes seconds (`longest_cut_s`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/schedule/jobs.h"

namespace partita::fleet {

inline constexpr std::int64_t kMostLeases = 5'000;
inline constexpr double kLastSecond = 1e10;

struct TimedLease {
  std::string name;
  std::vector<Server> servers;  // kind and profile; the weight is not looked at
  double from_s = 0, for_s = 0;
  std::int64_t count = 1;
};

struct LeasedSpan {
  int lease = 0;  // index in the list given
  plan::Placed placed;
  double from_s = 0, until_s = 0;
};

struct LeasedGpu {
  int kind = 0;
  std::vector<LeasedSpan> spans;  // by begin
};

struct Calendar {
  std::vector<LeasedGpu> gpus;     // those that hold leases
  std::vector<std::int64_t> used;  // per kind
  double cost = 0;                 // prices of the GPUs
  double bound = 0;                // no plan costs less: the most expensive moment, with every instance free to move
  double peak_s = 0;               // that moment
  std::int64_t most_at_once = 0;   // leases
  double longest_cut_s = 0;        // the longest time that cuts of one moment on one GPU take
  bool optimal() const { return cost <= bound + 1e-6; }
};

// `times` as in Batch. Kinds without a count: as many as are needed. `invalid` when leases are not well formed;
// `no_space` when the GPUs do not suffice: says when and for which.
Result<Calendar> plan_leases(const Fleet& fleet, const std::vector<TimedLease>& leases,
                             const std::vector<std::vector<ReconfigureTime>>& times);

// Checked by the board's facts alone; `internal` names what is wrong.
Result<void> validate(const Fleet& fleet, const std::vector<TimedLease>& leases, const Calendar& calendar);

}  // namespace partita::fleet
