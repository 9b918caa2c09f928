#include "fleet/schedule/schedule_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

namespace partita::fleet {

namespace {

constexpr std::int64_t kStepsPerJob = 2'500;  // of one start
constexpr std::int64_t kFewestSteps = 700'000, kMostSteps = 20'000'000;
constexpr std::int64_t kMostStarts = 12;
constexpr std::int64_t kHurried = 20;  // steps per job where the search was stopped
constexpr std::size_t kTogether = 2;   // GPUs that are annealed at once
constexpr std::size_t kMostInVain = 12;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A GPU with its jobs.
struct Part {
  GpuInUse gpu;
  std::vector<int> jobs;
  std::vector<int> places;  // per job
  double cost = 0;
};

class Search {
 public:
  Search(const JobTable& table, const ScheduleOptions& options, double bound_s)
      : table_(table),
        options_(options),
        bound_((std::max(bound_s, table.goal == JobGoal::makespan ? options.enough_s : 0) * 1e6) + 0.5),
        steps_(options.steps) {
    if (steps_ == 0) steps_ = usual_steps(table.jobs());
  }

  Found operator()() {
    if (table_.kind_of_gpu.size() <= kTogether)
      restarts();
    else
      pairs();
    return std::move(found_);
  }

 private:
  // Splitting is best when all is there from the start and only the end counts; else each direction has its turn.
  GpuInUse in_use(int kind, std::uint64_t turn) const {
    constexpr std::array all{Direction::splitting, Direction::merging, Direction::both};
    const bool split = table_.released && table_.goal == JobGoal::makespan;
    return {kind, &table_.order(kind, split ? Direction::splitting : all[turn % all.size()])};
  }

  bool over() {
    found_.stopped = found_.stopped || (options_.stop && options_.stop());
    return found_.stopped;
  }

  Annealed annealed(const std::vector<GpuInUse>& gpus, const std::vector<int>& jobs, std::int64_t steps) {
    found_.steps += steps;
    return anneal(table_, gpus, jobs, steps, ++seed_, [this] { return over(); });
  }

  void restarts() {
    std::vector<int> jobs(table_.jobs());
    std::iota(jobs.begin(), jobs.end(), 0);
    const auto wanted = steps_ / (kStepsPerJob * static_cast<std::int64_t>(jobs.size()));
    const auto starts = std::clamp<std::int64_t>(wanted, 1, kMostStarts);
    double best = kUnlimited;
    for (std::int64_t n = 0; n < starts && best > bound_ && (n == 0 || !over()); ++n) {
      std::vector<GpuInUse> gpus;
      for (const int kind : table_.kind_of_gpu) gpus.push_back(in_use(kind, static_cast<std::uint64_t>(n)));
      auto made = annealed(gpus, jobs, steps_ / starts);
      if (made.cost >= best) continue;
      best = made.cost;
      found_.spots = std::move(made.spots);
      found_.gpus = std::move(gpus);
    }
  }

  // Large areas first, each to the GPU whose units then have the least to do.
  std::vector<Part> dealt() const {
    std::vector<Part> parts;
    for (const int kind : table_.kind_of_gpu) parts.push_back({in_use(kind, 0), {}, {}, 0});
    const auto least = [&](int j) {
      double out = kUnlimited;
      for (std::size_t g = 0; g < parts.size(); ++g)
        if (g == 0 || parts[g].gpu.kind != parts[g - 1].gpu.kind)
          out = std::min(out, table_.least_area(j, parts[g].gpu.kind));
      return out;
    };
    std::vector<std::pair<double, int>> order;
    for (std::size_t j = 0; j < table_.jobs(); ++j)
      order.emplace_back(-least(static_cast<int>(j)), static_cast<int>(j));
    std::ranges::sort(order);
    for (const auto& [ignored, j] : order) {
      Part* best = nullptr;
      double lowest = kUnlimited;
      int last_kind = -1;
      double area = 0;
      for (auto& part : parts) {
        if (part.gpu.kind != last_kind) area = table_.least_area(j, part.gpu.kind);
        last_kind = part.gpu.kind;
        const double then = part.cost + (area / part.gpu.order->units);
        if (then >= lowest) continue;
        lowest = then;
        best = &part;
      }
      best->cost = lowest;
      best->jobs.push_back(j);
    }
    return parts;
  }

  void anneal_alone(Part& part, std::int64_t steps_per_job) {
    const auto made = annealed({part.gpu}, part.jobs, steps_per_job * static_cast<std::int64_t>(part.jobs.size()));
    part.places.clear();
    for (const auto& spot : made.spots) part.places.push_back(spot.place);
    part.cost = made.cost;
  }

  // Anneals both together; whether that made them better.
  bool improve(Part& a, Part& b, std::int64_t steps_per_job) {
    std::vector<int> jobs = a.jobs;
    jobs.insert(jobs.end(), b.jobs.begin(), b.jobs.end());
    const std::vector<GpuInUse> gpus{in_use(a.gpu.kind, seed_), in_use(b.gpu.kind, seed_ / 3)};
    const auto made = annealed(gpus, jobs, steps_per_job * static_cast<std::int64_t>(jobs.size()));
    const bool mean = table_.goal == JobGoal::mean_completion;
    if (made.cost >= (mean ? a.cost + b.cost : std::max(a.cost, b.cost)) - 0.5) return false;
    for (Part* part : {&a, &b}) *part = {gpus[part == &a ? 0 : 1], {}, {}, made.costs[part == &a ? 0 : 1]};
    for (std::size_t n = 0; n < jobs.size(); ++n) {
      Part& part = made.spots[n].gpu == 0 ? a : b;
      part.jobs.push_back(jobs[n]);
      part.places.push_back(made.spots[n].place);
    }
    return true;
  }

  void pairs() {
    auto parts = dealt();
    const auto n = static_cast<std::int64_t>(table_.jobs());
    const auto per_job = std::clamp<std::int64_t>(steps_ / 4 / n, kHurried, kStepsPerJob);
    for (auto& part : parts) anneal_alone(part, over() ? kHurried : per_job);
    SplitMix random{1};
    for (std::size_t in_vain = 0; in_vain < kMostInVain * parts.size() && found_.steps < steps_ && !over();) {
      const auto worst = table_.goal == JobGoal::makespan
                             ? std::ranges::max_element(parts, {}, &Part::cost)
                             : parts.begin() + random.below(static_cast<int>(parts.size()));
      if (table_.goal == JobGoal::makespan && worst->cost <= bound_) break;
      const auto other = parts.begin() + random.below(static_cast<int>(parts.size()));
      if (other == worst) continue;
      in_vain = improve(*worst, *other, std::max<std::int64_t>(per_job, 500)) ? 0 : in_vain + 1;
    }
    found_.spots.resize(table_.jobs());
    for (std::size_t g = 0; g < parts.size(); ++g) {
      found_.gpus.push_back(parts[g].gpu);
      for (std::size_t i = 0; i < parts[g].jobs.size(); ++i)
        found_.spots[static_cast<std::size_t>(parts[g].jobs[i])] = {static_cast<int>(g), parts[g].places[i]};
    }
  }

  const JobTable& table_;
  const ScheduleOptions& options_;
  const double bound_;  // microseconds
  std::int64_t steps_;
  Found found_;
  std::uint64_t seed_ = 0;
};

}  // namespace

std::int64_t usual_steps(std::size_t jobs) {
  return std::clamp(kStepsPerJob * static_cast<std::int64_t>(jobs), kFewestSteps, kMostSteps);
}

Found search(const JobTable& table, const ScheduleOptions& options, double bound_s) {
  return Search(table, options, bound_s)();
}

}  // namespace partita::fleet
