#include "fleet/schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fleet/schedule/job_table.h"
#include "fleet/schedule/schedule_bound.h"
#include "fleet/schedule/schedule_search.h"

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Result<void> check(const Fleet& fleet, const Batch& batch) {
  if (batch.jobs.empty()) return fail(ErrorCode::invalid, "a batch needs at least one job");
  if (batch.jobs.size() > kMostJobs)
    return fail(ErrorCode::invalid, fmt::format("expected at most {} jobs, found {}", kMostJobs, batch.jobs.size()));
  if (batch.times.size() != fleet.kinds.size())
    return fail(ErrorCode::invalid, "expected times of reconfiguration for each kind of GPU");
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k) {
    const auto& kind = fleet.kinds[k];
    if (!kind.count)
      return fail(ErrorCode::invalid, kind.name + ": jobs need a number of GPUs, found as many as needed");
    if (batch.times[k].size() != kind.board->profiles.size())
      return fail(ErrorCode::invalid, kind.name + ": expected times of reconfiguration for each profile");
    for (const auto& time : batch.times[k])
      if (!(time.create_s >= 0 && time.create_s <= kMostSeconds && time.destroy_s >= 0 &&
            time.destroy_s <= kMostSeconds))
        return fail(ErrorCode::invalid, kind.name + ": times of reconfiguration must not be negative or beyond 1e7 s");
  }
  for (const auto& job : batch.jobs) {
    const auto wrong = [&](std::string_view what, double most, double found) {
      return fail(ErrorCode::invalid,
                  fmt::format("job {}: expected {} up to {:g}, found {:g}", job.name, what, most, found));
    };
    if (!(job.release_s >= 0 && job.release_s <= kMostSeconds))
      return wrong("a release from 0 s", kMostSeconds, job.release_s);
    if (!(job.priority > 0 && job.priority <= 1e6)) return wrong("a priority above 0", 1e6, job.priority);
    for (const auto& way : job.ways) {
      if (way.kind < 0 || at(way.kind) >= fleet.kinds.size() || way.profile < 0 ||
          at(way.profile) >= fleet.kinds[at(way.kind)].board->profiles.size())
        return fail(ErrorCode::invalid,
                    fmt::format("job {}: a way names a kind or profile that is not there", job.name));
      if (!(way.seconds > 0 && way.seconds <= kMostSeconds))
        return wrong("a time above 0 s", kMostSeconds, way.seconds);
    }
  }
  return {};
}

double seconds(Micros time) { return static_cast<double>(time) * 1e-6; }

GpuSchedule gpu_schedule(const JobTable& table, const GpuInUse& gpu, std::vector<std::vector<int>>& jobs) {
  const auto& order = *gpu.order;
  PlaceSet active = 0;
  std::vector<Micros> load(order.places.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const int profile = order.places[i].placed.profile;
    std::ranges::sort(jobs[i], [&](int a, int b) { return goes_before(table, gpu.kind, profile, a, b); });
    for (const int j : jobs[i]) load[i] += table.time(gpu.kind, j, profile);
    if (!jobs[i].empty()) active |= PlaceSet{1} << i;
  }
  std::vector<std::vector<JobRun>> runs(order.places.size());
  const auto run = [&](int i, Micros ready) {
    return run_jobs(table, gpu.kind, order.places[at(i)].placed.profile, jobs[at(i)], ready,
                    [&](int j, Micros begin, Micros end) { runs[at(i)].push_back({j, seconds(begin), seconds(end)}); });
  };
  std::vector<PlaceTimes> times(order.places.size(), PlaceTimes{-1, -1, -1, -1, -1});
  play(order, active, load.data(), run, times.data());
  GpuSchedule out{gpu.kind, {}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& place = order.places[i];
    if (times[i].create < 0 && !place.there) continue;
    const auto or_never = [](Micros time) { return time < 0 ? std::nullopt : std::optional(seconds(time)); };
    out.instances.push_back({place.placed, place.there, std::max(0.0, seconds(times[i].create)),
                             std::max(0.0, seconds(times[i].ready)), std::move(runs[i]), or_never(times[i].destroy),
                             or_never(times[i].gone)});
  }
  std::ranges::stable_sort(out.instances, {}, [](const TimedInstance& each) { return each.create_s; });
  return out;
}

Schedule schedule_of(const JobTable& table, const Batch& batch, const Found& found) {
  std::vector<std::vector<std::vector<int>>> jobs;  // per GPU and place
  for (const auto& gpu : found.gpus) jobs.emplace_back(gpu.order->places.size());
  for (std::size_t j = 0; j < found.spots.size(); ++j)
    jobs[at(found.spots[j].gpu)][at(found.spots[j].place)].push_back(static_cast<int>(j));
  Schedule out;
  for (std::size_t g = 0; g < found.gpus.size(); ++g) {
    if (std::ranges::all_of(jobs[g], [](const auto& list) { return list.empty(); })) continue;
    out.gpus.push_back(gpu_schedule(table, found.gpus[g], jobs[g]));
    for (const auto& instance : out.gpus.back().instances)
      for (const auto& run : instance.runs) {
        out.makespan_s = std::max(out.makespan_s, run.end_s);
        out.mean_completion_s += batch.jobs[at(run.job)].priority * run.end_s / table.priorities;
      }
  }
  out.steps = found.steps;
  out.stopped = found.stopped;
  return out;
}

// A job that fits on no GPU, not even alone.
Result<void> check_room(const Fleet& fleet, const Batch& batch, const JobTable& table) {
  for (std::size_t j = 0; j < table.jobs(); ++j)
    if (std::ranges::none_of(table.kind_of_gpu,
                             [&](int kind) { return std::isfinite(table.least_area(static_cast<int>(j), kind)); }))
      return fail(
          ErrorCode::impossible,
          fmt::format("job {} fits on none of the fleet's {} kinds of GPU: it has no time for a size that is free "
                      "there; give it one, or more GPUs",
                      batch.jobs[j].name, fleet.kinds.size()));
  return {};
}

}  // namespace

Result<Schedule> schedule(const Fleet& fleet, const Batch& batch, const ScheduleOptions& options) {
  TRY_VOID(check(fleet, batch));
  const JobTable table(fleet, batch);
  TRY_VOID(check_room(fleet, batch, table));
  const double bound = options.enough_s > 0 ? 0 : bound_of(fleet, batch);
  auto out = schedule_of(table, batch, search(table, options, bound));
  out.bound_s = std::min(bound, out.value(batch.goal));
  return out;
}

}  // namespace partita::fleet
