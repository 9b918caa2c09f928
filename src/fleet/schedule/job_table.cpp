#include "fleet/schedule/job_table.h"

#include <algorithm>
#include <cmath>

namespace partita::fleet {

JobTable::JobTable(const Fleet& fleet, const Batch& batch) : goal(batch.goal) {
  const auto n = batch.jobs.size();
  std::vector<std::vector<bool>> used;
  for (const auto& kind : fleet.kinds) {
    profiles_.push_back(kind.board->profiles.size());
    time_.emplace_back(n * profiles_.back());
    used.emplace_back(profiles_.back());
  }
  for (std::size_t j = 0; j < n; ++j) {
    const auto& job = batch.jobs[j];
    release.push_back(std::llround(job.release_s * 1e6));
    released = released && release.back() == 0;
    priority.push_back(job.priority);
    priorities += job.priority;
    for (const auto& way : job.ways) {
      const auto k = static_cast<std::size_t>(way.kind);
      const auto p = static_cast<std::size_t>(way.profile);
      time_[k][(j * profiles_[k]) + p] = std::max<Micros>(1, std::llround(way.seconds * 1e6));
      used[k][p] = true;
    }
  }
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
    const auto& kind = fleet.kinds[k];
    orders_.emplace_back();
    for (const auto direction : {Direction::splitting, Direction::merging, Direction::both})
      orders_.back()[static_cast<std::size_t>(direction)] = order_of(kind, used[k], batch.times[k], direction);
    if (orders_.back().front().places.empty()) continue;
    const auto most = std::min<std::int64_t>(kind.count.value_or(0), static_cast<std::int64_t>(n));
    kind_of_gpu.insert(kind_of_gpu.end(), static_cast<std::size_t>(most), static_cast<int>(k));
  }
}

double JobTable::least_area(int job, int kind) const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& place : order(kind, Direction::splitting).places)
    if (const auto time = this->time(kind, job, place.placed.profile); time > 0)
      least = std::min(least, static_cast<double>(time) * std::popcount(place.units));
  return least;
}

}  // namespace partita::fleet
