#include "fleet/schedule/batch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "fleet/schedule/deadline.h"
#include "fleet/schedule/schedule_bound.h"
#include "fleet/schedule/schedule_search.h"

namespace partita::fleet {

namespace {

constexpr std::int64_t kMostAdded = 4096;  // GPUs for a batch
constexpr std::int64_t kProbeSteps = 4'000'000;
constexpr std::int64_t kMostProbeSteps = 40'000'000;  // of all together; beyond, the first that meets the deadline does
constexpr double kMargin = 1e-6;                      // seconds

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

// What kinds of the fleet offer, for the kinds of the room that come from them, in the room's order.
template <class T>
std::vector<T> offers_on(const Room& room, std::vector<T> offers) {
  std::ranges::stable_sort(offers, {}, &T::kind);
  std::vector<T> out;
  for (std::size_t k = 0; k < room.origin.size(); ++k)
    for (T each : std::ranges::equal_range(offers, room.origin[k], {}, &T::kind)) {
      each.kind = static_cast<int>(k);
      out.push_back(each);
    }
  return out;
}

std::vector<Job> jobs_on(const Room& room, std::vector<Job> jobs) {
  for (auto& job : jobs) job.ways = offers_on(room, std::move(job.ways));
  return jobs;
}

Error too_late(double end, double bound, double deadline, bool stopped) {
  const std::string_view help =
      stopped ? "give more time, add GPUs, or a later deadline" : "add GPUs, or a later deadline";
  return {
      ErrorCode::no_space,
      fmt::format("the jobs end at {:.1f} s at the earliest that was found{}, after their deadline of {:.12g} s", end,
                  stopped ? " within the time limit" : "", deadline),
      {bound > deadline ? fmt::format("no schedule on these GPUs ends before {:.1f} s: {}", bound, help)
                        : fmt::format("none is known to end in time, and none is known to be impossible: no schedule "
                                      "ends before {:.1f} s; {}",
                                      bound, help)}};
}

// No schedule on so many GPUs of the open kind ends before.
double end_bound(Room room, Batch batch, std::size_t open, std::int64_t gpus) {
  room.fleet.kinds[open].count = gpus;
  batch.goal = JobGoal::makespan;
  return bound_of(room.fleet, batch);
}

// The count that the schedule uses: GPUs without a job are left out.
std::int64_t used_of(const Schedule& schedule, std::size_t kind) {
  return std::ranges::count(schedule.gpus, static_cast<int>(kind), &GpuSchedule::kind);
}

// Schedules with several numbers of GPUs of one kind, of which only whether they meet the deadline counts.
struct Probes {
  Room room;
  const Batch& batch;
  std::size_t open;
  const ScheduleOptions& options;
  double deadline_s;
  std::int64_t steps = 0;  // of all together
  std::int64_t used = 0;   // the fewest GPUs that met it
  bool met = false;
  Schedule best{};  // that uses them
  double earliest_s = 1e30;
  bool stopped = false;

  Result<bool> meets(std::int64_t gpus) {
    auto hurried = options;
    const auto usual = options.steps > 0 ? options.steps : usual_steps(batch.jobs.size());
    hurried.steps = std::min(usual, steps < kMostProbeSteps ? kProbeSteps : kProbeSteps / 8);
    hurried.enough_s = deadline_s;
    return try_with(gpus, hurried);
  }

  // With all steps, as good as it gets.
  Result<BatchPlan> best_on(std::int64_t bound) {
    if (!stopped) TRY(try_with(used, options));
    room.fleet.kinds[open].count = used;
    best.bound_s = std::min(bound_of(room.fleet, batch), best.value(batch.goal));
    return BatchPlan{std::move(room), batch, std::move(best), used, bound};
  }

 private:
  Result<bool> try_with(std::int64_t gpus, const ScheduleOptions& with) {
    room.fleet.kinds[open].count = gpus;
    auto made = schedule(room.fleet, batch, with);
    if (!made && made.error().code == ErrorCode::impossible && gpus == 0) return false;
    if (!made) return std::unexpected(std::move(made.error()));
    steps += made->steps;
    stopped = stopped || made->stopped;
    earliest_s = std::min(earliest_s, made->makespan_s);
    if (made->makespan_s > deadline_s + kMargin) return false;
    const auto here = used_of(*made, open);
    if (met && (here > used || (here == used && made->value(batch.goal) > best.value(batch.goal)))) return true;
    met = true;
    used = here;
    best = std::move(*made);
    return true;
  }
};

class BatchPlanner {
 public:
  BatchPlanner(Room room, Batch batch, double deadline_s, const ScheduleOptions& options)
      : room_(std::move(room)), batch_(std::move(batch)), deadline_s_(deadline_s), options_(options) {}

  // From the bound on, twice as much more each time, until a schedule meets the deadline; then between.
  Result<BatchPlan> with_open(std::size_t open) {
    Probes probes{room_, batch_, open, options_, deadline_s_};
    for (auto& kind : probes.room.fleet.kinds)
      if (!kind.count) kind.count = 0;
    const auto bound = TRY(fewest(probes));
    const auto most = std::clamp<std::int64_t>(static_cast<std::int64_t>(batch_.jobs.size()), bound, kMostAdded);
    std::int64_t low = bound - 1;
    for (std::int64_t more = 1, gpus = bound;; low = gpus, gpus = std::min(bound + more, most), more *= 2) {
      if (TRY(probes.meets(gpus))) break;
      if (gpus >= most || probes.stopped)
        return std::unexpected(
            too_late(probes.earliest_s, end_bound(probes.room, batch_, open, gpus), deadline_s_, probes.stopped));
    }
    while (probes.used - low > 1 && probes.steps < kMostProbeSteps && !probes.stopped) {
      const auto middle = (low + probes.used) / 2;
      if (!TRY(probes.meets(middle))) low = middle;
    }
    return probes.best_on(bound);
  }

  Result<BatchPlan> closed() {
    auto made = TRY(schedule(room_.fleet, batch_, options_));
    if (made.makespan_s > deadline_s_ + kMargin) {
      batch_.goal = JobGoal::makespan;
      return std::unexpected(too_late(made.makespan_s, bound_of(room_.fleet, batch_), deadline_s_, made.stopped));
    }
    return BatchPlan{std::move(room_), std::move(batch_), std::move(made), 0, 0};
  }

 private:
  // With fewer no schedule meets the deadline.
  Result<std::int64_t> fewest(const Probes& probes) const {
    const auto bound_with = [&](std::int64_t gpus) { return end_bound(probes.room, batch_, probes.open, gpus); };
    std::int64_t low = -1;  // too few
    std::int64_t high = 1;
    const auto over = [&] { return options_.stop && options_.stop(); };
    while (high <= kMostAdded && !over() && bound_with(high) > deadline_s_) low = high, high *= 2;
    if (high > kMostAdded) {
      return std::unexpected(Error{
          ErrorCode::no_space,
          fmt::format("the jobs need more than the {} GPUs that an open fleet gets for them at most", kMostAdded),
          {fmt::format("on so many no schedule ends before {:.1f} s, after the deadline of {:.12g} s: give a later "
                       "deadline, or a number of nodes",
                       bound_with(kMostAdded), deadline_s_)}});
    }
    const auto& kinds = probes.room.fleet.kinds;
    const bool others = std::ranges::any_of(kinds, [](const auto& kind) { return kind.count.value_or(0) > 0; });
    if (low < 0 && others && !over() && bound_with(0) <= deadline_s_) high = 0;
    while (high - low > 1 && high > 0) {
      if (over()) return std::max<std::int64_t>(low + 1, 1);
      const auto middle = (low + high) / 2;
      (middle == 0 || bound_with(middle) > deadline_s_ ? low : high) = middle;
    }
    return high;
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
  TRY_VOID(check_deadline(room, file, times));
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
  for (auto& lease : out.leases) lease.servers = offers_on(out.room, std::move(lease.servers));
  out.calendar = TRY(plan_leases(out.room.fleet, out.leases, on_room(out.room, times)));
  return out;
}

}  // namespace partita::fleet
