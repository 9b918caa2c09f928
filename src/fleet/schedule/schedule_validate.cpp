#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "fleet/schedule/schedule.h"

namespace partita::fleet {

namespace {

constexpr double kSlack = 2e-6;  // times are whole microseconds, here as fractions of seconds

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// What an instance does to its GPU, from when to when.
struct Span {
  double begin, end;
};
Span lives(const TimedInstance& instance) {
  return {instance.there ? -1 : instance.create_s, instance.gone_s.value_or(1e30)};
}
bool overlap(const Span& a, const Span& b) { return a.begin < b.end - kSlack && b.begin < a.end - kSlack; }
bool near(double a, double b) { return std::abs(a - b) <= kSlack; }

bool legal(const catalog::Profile& profile, int start) {
  return std::ranges::find(profile.placements, start) != profile.placements.end();
}

class Validator {
 public:
  Validator(const Fleet& fleet, const Batch& batch, const Schedule& schedule)
      : fleet_(fleet), batch_(batch), schedule_(schedule), runs_(batch.jobs.size()) {}

  Result<void> operator()() {
    std::vector<std::int64_t> gpus(fleet_.kinds.size());
    for (std::size_t g = 0; g < schedule_.gpus.size(); ++g) {
      gpu_ = g;
      const auto& gpu = schedule_.gpus[g];
      if (gpu.kind < 0 || at(gpu.kind) >= fleet_.kinds.size()) return wrong("is of no kind of the fleet");
      if (++gpus[at(gpu.kind)] > fleet_.kinds[at(gpu.kind)].count.value_or(0))
        return wrong("is one too many of its kind");
      TRY_VOID(places(gpu));
      TRY_VOID(times(gpu));
      TRY_VOID(in_turn(gpu));
    }
    return sums();
  }

 private:
  std::unexpected<Error> wrong(const std::string& what) const {
    return fail(ErrorCode::internal, fmt::format("GPU {} of the schedule {}", gpu_, what));
  }

  // Legal places, none of them in another's way at any time, and nothing pinned touched.
  Result<void> places(const GpuSchedule& gpu) const {
    const auto& kind = fleet_.kinds[at(gpu.kind)];
    struct Held {
      int from, to;
      Span when;
    };
    std::vector<Held> held;
    std::vector<plan::Placed> idle;
    const auto size = [&](int p) { return kind.board->profiles[at(p)].placement_size; };
    for (const auto& each : kind.state) {
      if (each.pinned)
        held.push_back({each.placed.start, each.placed.start + size(each.placed.profile), {-1, 1e30}});
      else
        idle.push_back(each.placed);
    }
    for (const auto& instance : gpu.instances) {
      const auto& [p, start] = instance.placed;
      if (p < 0 || at(p) >= kind.board->profiles.size()) return wrong("has an instance of no profile");
      if (!legal(kind.board->profiles[at(p)], start))
        return wrong(fmt::format("has a {} at {}, where none can be", kind.board->profiles[at(p)].name, start));
      if (instance.there && std::erase(idle, instance.placed) != 1) return wrong("has an instance that was not there");
      const Held here{start, start + size(p), lives(instance)};
      for (const auto& other : held)
        if (here.from < other.to && other.from < here.to && overlap(here.when, other.when))
          return wrong(fmt::format("has two instances on unit {} at once", std::max(here.from, other.from)));
      held.push_back(here);
    }
    if (!idle.empty()) return wrong("lost an instance that was there");
    return together(gpu);
  }

  // Whenever an instance comes, all that are there are possible on one GPU.
  Result<void> together(const GpuSchedule& gpu) const {
    const auto& kind = fleet_.kinds[at(gpu.kind)];
    const plan::Geometry geometry(*kind.board);
    for (const auto& instance : gpu.instances) {
      const double now = lives(instance).begin;
      std::vector<plan::Placed> there;
      for (const auto& each : kind.state)
        if (each.pinned) there.push_back(each.placed);
      for (const auto& other : gpu.instances)
        if (lives(other).begin <= now && now < lives(other).end - kSlack) there.push_back(other.placed);
      if (!valid(geometry, there)) return wrong("has instances at once that do not go together");
    }
    return {};
  }

  Result<void> times(const GpuSchedule& gpu) {
    for (const auto& instance : gpu.instances) {
      const auto& time = batch_.times[at(gpu.kind)][at(instance.placed.profile)];
      if (!instance.there && !near(instance.ready_s, instance.create_s + time.create_s))
        return wrong("has an instance that takes another time to create");
      if (instance.gone_s.has_value() != instance.destroy_s.has_value() ||
          (instance.gone_s && !near(*instance.gone_s, *instance.destroy_s + time.destroy_s)))
        return wrong("has an instance that takes another time to destroy");
      double now = instance.there ? 0 : instance.ready_s;
      for (const auto& run : instance.runs) {
        if (run.job < 0 || at(run.job) >= batch_.jobs.size()) return wrong("runs a job that is none");
        const auto& job = batch_.jobs[at(run.job)];
        ++runs_[at(run.job)];
        if (run.begin_s < now - kSlack || run.begin_s < job.release_s - kSlack)
          return wrong("runs job " + job.name + " too early");
        const auto way = std::ranges::find_if(job.ways, [&](const JobWay& each) {
          return each.kind == gpu.kind && each.profile == instance.placed.profile;
        });
        if (way == job.ways.end()) return wrong("runs job " + job.name + " on a size that it has no time for");
        if (!near(run.end_s - run.begin_s, std::max(way->seconds, 1e-6)))
          return wrong("runs job " + job.name + " in another time");
        now = run.end_s;
      }
      if (instance.destroy_s && *instance.destroy_s < now - kSlack)
        return wrong("destroys an instance that runs a job");
    }
    return {};
  }

  // One creation or destruction at a time.
  Result<void> in_turn(const GpuSchedule& gpu) const {
    std::vector<Span> spans;
    for (const auto& instance : gpu.instances) {
      if (!instance.there) spans.push_back({instance.create_s, instance.ready_s});
      if (instance.destroy_s) spans.push_back({*instance.destroy_s, instance.gone_s.value_or(0)});
    }
    std::ranges::sort(spans, {}, &Span::begin);
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (overlap(spans[i - 1], spans[i])) return wrong("creates and destroys two instances at once");
    return {};
  }

  Result<void> sums() const {
    double end = 0;
    double mean = 0;
    double weights = 0;
    for (std::size_t j = 0; j < runs_.size(); ++j)
      if (runs_[j] != 1)
        return fail(ErrorCode::internal, fmt::format("job {} runs {} times", batch_.jobs[j].name, runs_[j]));
    for (const auto& job : batch_.jobs) weights += job.priority;
    for (const auto& gpu : schedule_.gpus)
      for (const auto& instance : gpu.instances)
        for (const auto& run : instance.runs) {
          end = std::max(end, run.end_s);
          mean += batch_.jobs[at(run.job)].priority * run.end_s / weights;
        }
    if (!near(end, schedule_.makespan_s)) return fail(ErrorCode::internal, "the makespan is not the schedule's");
    if (std::abs(mean - schedule_.mean_completion_s) > 1e-6 * (1 + mean))
      return fail(ErrorCode::internal, "the mean completion is not the schedule's");
    if (schedule_.bound_s > schedule_.value(batch_.goal) + kSlack)
      return fail(ErrorCode::internal, "the schedule is below its bound");
    return {};
  }

  const Fleet& fleet_;
  const Batch& batch_;
  const Schedule& schedule_;
  std::vector<int> runs_;  // per job
  std::size_t gpu_ = 0;
};

}  // namespace

Result<void> validate(const Fleet& fleet, const Batch& batch, const Schedule& schedule) {
  return Validator(fleet, batch, schedule)();
}

}  // namespace partita::fleet
