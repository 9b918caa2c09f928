// A batch in numbers: whole microseconds, jobs by index, GPUs one by one. Inside fleet/ only.
#pragma once

#include <array>
#include <vector>

#include "fleet/schedule/jobs.h"
#include "fleet/schedule/timeline.h"

namespace partita::fleet {

// Where a job runs.
struct JobSpot {
  int gpu = 0;    // index in JobTable::kind_of_gpu
  int place = 0;  // index in the GPU's Order::places
};

class JobTable {
 public:
  // Well formed ones only. Of each kind at most as many GPUs as there are jobs.
  JobTable(const Fleet& fleet, const Batch& batch);

  std::size_t jobs() const { return release.size(); }
  // 0: it does not run there.
  Micros time(int kind, int job, int profile) const {
    return time_[static_cast<std::size_t>(kind)]
                [(static_cast<std::size_t>(job) * profiles_[static_cast<std::size_t>(kind)]) +
                 static_cast<std::size_t>(profile)];
  }
  // The least units times microseconds that the job takes on a GPU of the kind; infinite where it does not fit.
  double least_area(int job, int kind) const;
  const Order& order(int kind, Direction direction) const {
    return orders_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(direction)];
  }

  std::vector<Micros> release;   // per job
  std::vector<double> priority;  // per job
  double priorities = 0;         // their sum
  bool released = true;          // all from the start
  JobGoal goal = JobGoal::makespan;
  std::vector<int> kind_of_gpu;

 private:
  std::vector<std::size_t> profiles_;         // per kind
  std::vector<std::vector<Micros>> time_;     // per kind: per job and profile
  std::vector<std::array<Order, 3>> orders_;  // per kind
};

// Runs jobs one after the other from `ready` on: of those that are released the one first in `list` next; calls
// begun(job, begin, end) for each. When the last ends.
template <class F>
Micros run_jobs(const JobTable& table, int kind, int profile, const std::vector<int>& list, Micros ready,
                const F& begun) {
  Micros now = ready;
  if (table.released) {
    for (const int j : list) {
      const Micros end = now + table.time(kind, j, profile);
      begun(j, now, end);
      now = end;
    }
    return now;
  }
  std::vector<int> left = list;
  while (!left.empty()) {
    auto next = left.begin();
    for (auto at = left.begin(); at != left.end(); ++at) {
      const auto here = table.release[static_cast<std::size_t>(*at)];
      if (here <= now) {
        next = at;
        break;
      }
      if (here < table.release[static_cast<std::size_t>(*next)]) next = at;
    }
    const Micros begin = std::max(now, table.release[static_cast<std::size_t>(*next)]);
    now = begin + table.time(kind, *next, profile);
    begun(*next, begin, now);
    left.erase(next);
  }
  return now;
}

}  // namespace partita::fleet
