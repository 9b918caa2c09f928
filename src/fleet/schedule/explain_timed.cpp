#include "fleet/schedule/explain_timed.h"

#include <algorithm>
#include <future>

namespace partita::fleet {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// nullopt: not all jobs run.
Result<std::optional<Schedule>> schedule_on(const Fleet& fleet, const Batch& batch, const ScheduleOptions& options) {
  auto made = schedule(fleet, batch, options);
  if (made) return std::optional(std::move(*made));
  if (made.error().code == ErrorCode::impossible) return std::optional<Schedule>();
  return std::unexpected(std::move(made.error()));
}

// Where an instance stands already nothing is created, so creation does not count.
double alone(const Job& job) {
  const auto& fastest = *std::ranges::min_element(job.ways, {}, &JobWay::seconds);
  return job.release_s + fastest.seconds;
}

}  // namespace

Result<std::vector<LeaseMargin>> explain_leases(const Room& room, const std::vector<TimedLease>& leases,
                                                const std::vector<std::vector<ReconfigureTime>>& times,
                                                const LeasePlan& plan, const std::function<bool()>& stop,
                                                std::size_t most) {
  const double peak = plan.calendar.peak_s;
  std::vector<LeaseMargin> out;
  for (std::size_t i = 0; i < leases.size(); ++i)
    out.push_back({static_cast<int>(i), leases[i].from_s <= peak && peak < leases[i].from_s + leases[i].for_s, 0});
  std::ranges::stable_sort(out, std::ranges::greater{}, &LeaseMargin::at_peak);
  out.resize(std::min(out.size(), most));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (stop && stop()) {
      out.resize(i);
      break;
    }
    auto others = leases;
    others.erase(others.begin() + out[i].lease);
    if (!others.empty()) out[i].cost_without = TRY(plan_timed_leases(room, others, times)).calendar.cost;
  }
  return out;
}

Result<BatchMargin> explain_batch(const BatchPlan& plan, const ScheduleOptions& options) {
  BatchMargin out;
  double end = -1;
  int kind = 0;
  for (const auto& gpu : plan.schedule.gpus)
    for (const auto& instance : gpu.instances)
      for (const auto& run : instance.runs)
        if (run.end_s > end) {
          end = run.end_s;
          out.last = run.job;
          kind = gpu.kind;
        }
  const auto& fleet = plan.room.fleet;
  out.board = fleet.kinds[at(kind)].board->id;
  out.alone_s = alone(plan.batch.jobs[at(out.last)]);
  auto smaller = fleet;
  if (auto& count = smaller.kinds[at(kind)].count) --*count;
  auto fewer = std::async(std::launch::async, [&] { return schedule_on(smaller, plan.batch, options); });
  auto larger = fleet;
  auto batch = plan.batch;
  auto added = fleet.kinds[at(kind)];
  added.state.clear();
  added.count = 1;
  for (auto& job : batch.jobs) {
    const auto ways = job.ways;
    for (const auto& way : ways)
      if (way.kind == kind) job.ways.push_back({static_cast<int>(larger.kinds.size()), way.profile, way.seconds});
  }
  batch.times.push_back(batch.times[at(kind)]);
  larger.kinds.push_back(std::move(added));
  auto more_made = schedule_on(larger, batch, options);
  auto fewer_made = fewer.get();
  const auto less = TRY(std::move(fewer_made));
  const auto more = TRY(std::move(more_made));
  const auto stopped = [](const std::optional<Schedule>& made) { return made && made->stopped; };
  out.stopped = stopped(more) || stopped(less);
  if (out.stopped) return out;
  if (less) out.less = less->value(plan.batch.goal);
  out.more = plan.schedule.value(plan.batch.goal);  // a GPU more may stay empty
  if (more) out.more = std::min(*out.more, more->value(plan.batch.goal));
  return out;
}

}  // namespace partita::fleet
