#include "fleet/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "fleet/schedule_bound.h"

namespace partita::fleet {

namespace {

constexpr std::int64_t kMostAdded = 4096;  // GPUs for a batch

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Kind kind_after(const Fleet& fleet, const Group& group) {
  Kind out = fleet.kinds[at(group.kind)];
  out.count = group.count;
  out.state.clear();
  for (const auto& instance : group.instances) {
    const bool held = instance.want >= 0 || instance.is == Instance::Is::pinned;
    if (held || instance.is == Instance::Is::kept) out.state.push_back({instance.placed, held});
  }
  return out;
}

// What holds for kinds of the fleet planned, for kinds of the room.
template <class T>
std::vector<T> on_room(const Room& room, const std::vector<T>& per_kind) {
  std::vector<T> out;
  for (const int origin : room.origin) out.push_back(per_kind[at(origin)]);
  return out;
}

std::vector<Job> jobs_on(const Room& room, std::vector<Job> jobs) {
  for (auto& job : jobs) {
    std::vector<JobWay> ways;
    for (std::size_t k = 0; k < room.origin.size(); ++k)
      for (const auto& way : job.ways)
        if (way.kind == room.origin[k]) ways.push_back({static_cast<int>(k), way.profile, way.seconds});
    job.ways = std::move(ways);
  }
  return jobs;
}

Error too_late(double end, double bound, double deadline) {
  return {ErrorCode::no_space,
          fmt::format("the jobs end at {:.1f} s at the earliest that was found, after their deadline of {:g} s", end,
                      deadline),
          {bound > deadline
               ? fmt::format("no schedule on these GPUs ends before {:.1f} s: add GPUs, or a later deadline", bound)
               : fmt::format("none is known to end in time, and none is known to be impossible: no schedule "
                             "ends before {:.1f} s; add GPUs, or a later deadline",
                             bound)}};
}

class BatchPlanner {
 public:
  BatchPlanner(Room room, Batch batch, double deadline_s, const ScheduleOptions& options)
      : room_(std::move(room)), batch_(std::move(batch)), deadline_s_(deadline_s), options_(options) {}

  Result<BatchPlan> with_open(std::size_t open) {
    auto room = room_;
    for (std::size_t k = 0; k < room.fleet.kinds.size(); ++k)
      if (!room.fleet.kinds[k].count) room.fleet.kinds[k].count = 0;
    const auto bound_with = [&](std::int64_t gpus) {
      room.fleet.kinds[open].count = gpus;
      return bound_of(room.fleet, batch_);
    };
    const auto goal = batch_.goal;
    batch_.goal = JobGoal::makespan;
    std::int64_t low = -1;  // too few
    std::int64_t high = 1;
    while (high <= kMostAdded && bound_with(high) > deadline_s_) low = high, high *= 2;
    if (low < 0 && total(room.fleet, open) > 0 && bound_with(0) <= deadline_s_) high = 0;
    while (high - low > 1 && high > 0) {
      const auto middle = (low + high) / 2;
      (middle == 0 || bound_with(middle) > deadline_s_ ? low : high) = middle;
    }
    if (high > kMostAdded)
      return std::unexpected(too_late(bound_with(kMostAdded), bound_with(kMostAdded), deadline_s_));
    batch_.goal = goal;
    for (std::int64_t gpus = high; gpus <= kMostAdded; gpus += std::max<std::int64_t>(1, gpus / 50)) {
      room.fleet.kinds[open].count = gpus;
      auto made = schedule(room.fleet, batch_, options_);
      if (!made && made.error().code != ErrorCode::impossible) return std::unexpected(std::move(made.error()));
      if (!made && gpus > 0) return std::unexpected(std::move(made.error()));
      if (made && made->makespan_s <= deadline_s_ + 1e-6) return BatchPlan{room, batch_, std::move(*made), gpus, high};
      if (gpus > 2 * high + 16) break;
    }
    return std::unexpected(too_late(bound_with(high), bound_with(high), deadline_s_));
  }

  Result<BatchPlan> closed() {
    auto made = TRY(schedule(room_.fleet, batch_, options_));
    if (made.makespan_s > deadline_s_ + 1e-6) {
      batch_.goal = JobGoal::makespan;
      return std::unexpected(too_late(made.makespan_s, bound_of(room_.fleet, batch_), deadline_s_));
    }
    return BatchPlan{std::move(room_), std::move(batch_), std::move(made), 0, 0};
  }

 private:
  static std::int64_t total(const Fleet& fleet, std::size_t open) {
    std::int64_t out = 0;
    for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
      if (k != open) out += fleet.kinds[k].count.value_or(0);
    return out;
  }

  Room room_;
  Batch batch_;
  double deadline_s_;
  const ScheduleOptions& options_;
};

}  // namespace

Room room_beside(const Fleet& fleet, const Plan* plan) {
  Room out;
  const auto add = [&](Kind kind, int origin) {
    out.fleet.kinds.push_back(std::move(kind));
    out.origin.push_back(origin);
  };
  if (plan != nullptr)
    for (const auto& group : plan->groups) add(kind_after(fleet, group), group.kind);
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
    if (plan == nullptr || !fleet.kinds[k].count) add(fleet.kinds[k], static_cast<int>(k));
  return out;
}

Room room_beside(Room room, const Calendar& calendar) {
  for (std::size_t k = 0; k < room.fleet.kinds.size(); ++k)
    if (auto& count = room.fleet.kinds[k].count) *count -= calendar.used[k];
  return room;
}

Result<BatchPlan> plan_batch(const Room& room, const BatchFile& file,
                             const std::vector<std::vector<ReconfigureTime>>& times, const ScheduleOptions& options) {
  Batch batch{jobs_on(room, file.jobs), on_room(room, times), file.goal};
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < room.fleet.kinds.size(); ++k)
    if (!room.fleet.kinds[k].count) open.push_back(k);
  if (!open.empty() && !file.deadline_s)
    return fail(
        ErrorCode::invalid,
        "jobs on an open fleet need a deadline (batch: {deadline_s: ...}), or a number of nodes: how many GPUs they "
        "need depends on when they shall be done");
  BatchPlanner planner(room, std::move(batch), file.deadline_s.value_or(1e30), options);
  if (open.empty()) return planner.closed();
  std::optional<BatchPlan> best;
  Error last;
  double least = 0;
  for (const auto k : open) {
    auto made = planner.with_open(k);
    if (!made) {
      last = std::move(made.error());
      continue;
    }
    const double cost = static_cast<double>(made->added) * made->room.fleet.kinds[k].price;
    if (best && cost >= least) continue;
    least = cost;
    best = std::move(*made);
  }
  if (!best) return std::unexpected(std::move(last));
  return std::move(*best);
}

Result<LeasePlan> plan_timed_leases(const Room& room, const std::vector<TimedLease>& leases,
                                    const std::vector<std::vector<ReconfigureTime>>& times) {
  LeasePlan out{room, leases, {}};
  for (auto& lease : out.leases) {
    std::vector<Server> servers;
    for (std::size_t k = 0; k < out.room.origin.size(); ++k)
      for (const auto& server : lease.servers)
        if (server.kind == out.room.origin[k]) servers.push_back({static_cast<int>(k), server.profile, 1});
    lease.servers = std::move(servers);
  }
  out.calendar = TRY(plan_leases(out.room.fleet, out.leases, on_room(out.room, times)));
  return out;
}

}  // namespace partita::fleet
