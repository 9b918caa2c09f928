#include "fleet/schedule/anneal.h"

#include <cmath>
#include <limits>

namespace partita::fleet {

namespace {

// Of the makespan's lower bound at the start: the temperature at first and at last. Found by trial on batches of 10 to
// 35 jobs.
constexpr double kHot = 0.03;
constexpr double kHotPerJob = 0.5;  // where few jobs make large steps: so much over their number
constexpr double kCold = 0.0005;
constexpr int kCooling = 64;          // steps between coolings
constexpr int kAsk = 64 * kCooling;   // steps between questions whether to stop
constexpr int kSwaps = 40;            // of 100 moves; the others put one job elsewhere
constexpr double kPackedness = 0.05;  // weight of the mean end of a GPU's units beside the makespan

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Outcome {
  Micros end = 0;
  double mean_unit = 0;
  double weighted = 0;  // sum of priority * completion
};

struct GpuState {
  GpuInUse gpu;
  PlaceSet active = 0;
  std::array<Micros, kMostPlaces> load{};
  std::array<int, kMostPlaces> count{};
  std::vector<std::vector<int>> jobs;  // per place, in the order of goes_before; only where that matters
  std::array<Micros, plan::kMaxPlacementUnits> unit{};  // time of all places that cover it, reconfiguration included
  Outcome now;
};

class Annealer {
 public:
  Annealer(const JobTable& table, const std::vector<GpuInUse>& gpus, const std::vector<int>& jobs, std::uint64_t seed)
      : table_(table), jobs_(jobs), random_{seed}, lists_(!table.released || table.goal == JobGoal::mean_completion) {
    for (const auto& gpu : gpus) {
      states_.emplace_back();
      states_.back().gpu = gpu;
      if (lists_) states_.back().jobs.resize(gpu.order->places.size());
      for (const auto& place : gpu.order->places) last_destroy_ = std::max(last_destroy_, place.destroy);
      units_ += gpu.order->units;
    }
  }

  Annealed operator()(std::int64_t steps, const std::function<bool()>& stop) {
    Annealed best;
    line_up();
    keep(best);
    clear();
    scatter();
    if (value() < best.cost) keep(best);
    cost_ = cost();
    const double hot = std::max(kHot, kHotPerJob / static_cast<double>(jobs_.size()));
    double heat = hot * scale();
    const double cool = std::pow(kCold / hot, kCooling / static_cast<double>(std::max<std::int64_t>(steps, 1)));
    for (std::int64_t s = 0; s < steps; ++s) {
      if (s % kCooling == 0) heat *= cool;
      if (s % kAsk == kAsk - 1 && stop && stop()) break;
      if (!move(heat)) continue;
      if (value() < best.cost) keep(best);
    }
    return best;
  }

 private:
  void keep(Annealed& as) const {
    as.spots = spots_;
    as.cost = value();
    as.costs.clear();
    for (const auto& state : states_)
      as.costs.push_back(table_.goal == JobGoal::makespan ? static_cast<double>(state.now.end)
                                                          : state.now.weighted / table_.priorities);
  }

  // Each job where it is fastest, on the GPU that is then done first: few changes lead there from elsewhere, as a large
  // instance is only worth its time when most jobs run on it.
  void line_up() {
    std::vector<Micros> done(states_.size());
    for (std::size_t n = 0; n < jobs_.size(); ++n) {
      JobSpot best;
      Micros least = std::numeric_limits<Micros>::max();
      for (std::size_t g = 0; g < states_.size(); ++g)
        for (std::size_t i = 0; i < states_[g].gpu.order->places.size(); ++i) {
          const JobSpot spot{static_cast<int>(g), static_cast<int>(i)};
          const auto time = time_at(n, spot);
          if (time == 0 || done[g] + time >= least) continue;
          least = done[g] + time;
          best = spot;
        }
      done[at(best.gpu)] = least;
      spots_.push_back(best);
      put(n, best, 1);
    }
    for (auto& state : states_) state.now = played(state);
  }

  void clear() {
    for (std::size_t n = 0; n < jobs_.size(); ++n) put(n, spots_[n], -1);
    spots_.clear();
  }

  void scatter() {
    for (std::size_t n = 0; n < jobs_.size(); ++n) {
      JobSpot spot;
      do spot = any_spot();
      while (time_at(n, spot) == 0);
      spots_.push_back(spot);
      put(n, spot, 1);
    }
    for (auto& state : states_) state.now = played(state);
  }

  JobSpot any_spot() {
    const int g = states_.size() == 1 ? 0 : random_.below(static_cast<int>(states_.size()));
    return {g, random_.below(static_cast<int>(states_[at(g)].gpu.order->places.size()))};
  }

  Micros time_at(std::size_t n, const JobSpot& spot) const {
    const auto& gpu = states_[at(spot.gpu)].gpu;
    return table_.time(gpu.kind, jobs_[n], gpu.order->places[at(spot.place)].placed.profile);
  }

  // Puts a job there (sign 1) or takes it away (-1).
  void put(std::size_t n, const JobSpot& spot, int sign) {
    auto& state = states_[at(spot.gpu)];
    const auto i = at(spot.place);
    const auto& place = state.gpu.order->places[i];
    Micros change = sign * time_at(n, spot);
    state.load[i] += change;
    const bool was = state.count[i] > 0;
    state.count[i] += sign;
    const bool is = state.count[i] > 0;
    if (was != is) {
      state.active ^= PlaceSet{1} << i;
      change += is ? place.create + place.destroy : -place.create - place.destroy;
    }
    for (plan::SliceMask m = place.units; m != 0; m &= m - 1) state.unit[at(std::countr_zero(m))] += change;
    if (!lists_) return;
    auto& list = state.jobs[i];
    const auto before = [&](int a, int b) { return goes_before(table_, state.gpu.kind, place.placed.profile, a, b); };
    const auto where = std::ranges::lower_bound(list, jobs_[n], before);
    if (sign > 0)
      list.insert(where, jobs_[n]);
    else
      list.erase(where);
  }

  Outcome played(const GpuState& state) const {
    Outcome out;
    const auto run = [&](int i, Micros ready) {
      if (!lists_) return ready + state.load[at(i)];
      return run_jobs(
          table_, state.gpu.kind, state.gpu.order->places[at(i)].placed.profile, state.jobs[at(i)], ready,
          [&](int j, Micros, Micros end) { out.weighted += table_.priority[at(j)] * static_cast<double>(end); });
    };
    const auto result = play(*state.gpu.order, state.active, state.load.data(), run);
    out.end = result.end;
    out.mean_unit = result.mean_unit;
    return out;
  }

  Micros last_end() const {
    Micros out = 0;
    for (const auto& state : states_) out = std::max(out, state.now.end);
    return out;
  }
  double weighted() const {
    double out = 0;
    for (const auto& state : states_) out += state.now.weighted;
    return out / table_.priorities;
  }
  // What is made least.
  double value() const { return table_.goal == JobGoal::makespan ? static_cast<double>(last_end()) : weighted(); }
  // The same, and what leads there.
  double cost() const {
    if (table_.goal == JobGoal::mean_completion) return weighted();
    double packed = 0;
    for (const auto& state : states_) packed += state.now.mean_unit;
    return static_cast<double>(last_end()) + (kPackedness * packed / static_cast<double>(states_.size()));
  }
  // The cost is not below this, whatever the order of reconfigurations.
  double low_cost() const {
    Micros longest = 0;
    double packed = 0;
    for (const auto& state : states_) {
      Micros sum = 0;
      for (int u = 0; u < state.gpu.order->units; ++u) {
        longest = std::max(longest, state.unit[at(u)]);
        sum += state.unit[at(u)];
      }
      packed += static_cast<double>(sum) / state.gpu.order->units;
    }
    return static_cast<double>(longest - last_destroy_) +
           (kPackedness * ((packed / static_cast<double>(states_.size())) - static_cast<double>(last_destroy_)));
  }
  double scale() const {
    if (table_.goal == JobGoal::mean_completion) return weighted() / 2;
    double area = 0;  // the least that each job takes of units and time
    for (const int job : jobs_) {
      double least = std::numeric_limits<double>::infinity();
      for (const auto& state : states_) least = std::min(least, table_.least_area(job, state.gpu.kind));
      area += least;
    }
    return area / units_;
  }

  // One random change, kept if it is no worse than chance allows. Whether it was.
  bool move(double heat) {
    const auto n = at(random_.below(static_cast<int>(jobs_.size())));
    const JobSpot from = spots_[n];
    const bool swap = random_.below(100) < kSwaps;
    const auto other = swap ? at(random_.below(static_cast<int>(jobs_.size()))) : n;
    const JobSpot to = swap ? spots_[other] : any_spot();
    if (from.gpu == to.gpu && from.place == to.place) return false;
    if (time_at(n, to) == 0 || (swap && time_at(other, from) == 0)) return false;
    shift(n, from, to);
    if (swap) shift(other, to, from);
    const double allowed = cost_ - (heat * std::log(random_.share() + 1e-300));
    if (table_.goal != JobGoal::makespan || low_cost() <= allowed) {
      const Outcome old_from = states_[at(from.gpu)].now;
      const Outcome old_to = states_[at(to.gpu)].now;
      states_[at(from.gpu)].now = played(states_[at(from.gpu)]);
      if (to.gpu != from.gpu) states_[at(to.gpu)].now = played(states_[at(to.gpu)]);
      if (const double here = cost(); here <= allowed) {
        cost_ = here;
        return true;
      }
      states_[at(to.gpu)].now = old_to;
      states_[at(from.gpu)].now = old_from;
    }
    if (swap) shift(other, from, to);
    shift(n, to, from);
    return false;
  }

  void shift(std::size_t n, const JobSpot& from, const JobSpot& to) {
    put(n, from, -1);
    put(n, to, 1);
    spots_[n] = to;
  }

  const JobTable& table_;
  const std::vector<int>& jobs_;
  SplitMix random_;
  const bool lists_;
  std::vector<GpuState> states_;
  std::vector<JobSpot> spots_;
  Micros last_destroy_ = 0;
  double units_ = 0;
  double cost_ = 0;
};

}  // namespace

bool goes_before(const JobTable& table, int kind, int profile, int a, int b) {
  const double of_a = static_cast<double>(table.time(kind, a, profile)) * table.priority[at(b)];
  const double of_b = static_cast<double>(table.time(kind, b, profile)) * table.priority[at(a)];
  return of_a != of_b ? of_a < of_b : a < b;
}

Annealed anneal(const JobTable& table, const std::vector<GpuInUse>& gpus, const std::vector<int>& jobs,
                std::int64_t steps, std::uint64_t seed, const std::function<bool()>& stop) {
  if (jobs.empty()) return {};
  return Annealer(table, gpus, jobs, seed)(steps, stop);
}

}  // namespace partita::fleet
