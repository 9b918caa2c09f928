#include "plan/pack_bounds.h"

#include <algorithm>
#include <set>

namespace partita::plan {

PackBounds::PackBounds(const PackProblem& problem, const std::vector<std::vector<OptionGroup>>& groups,
                       int max_destroyed)
    : kinds_(static_cast<int>(problem.kinds.size())),
      bins_(static_cast<int>(problem.bins.size())),
      max_destroyed_(max_destroyed) {
  find_measures(problem);
  const auto levels = static_cast<std::size_t>(max_destroyed + 1);
  best_.assign(measures_.size() * static_cast<std::size_t>(bins_ + 1) * levels * static_cast<std::size_t>(bins_ + 1),
               0);
  for (std::size_t m = 0; m < measures_.size(); ++m) {
    for (int g = bins_; g-- > 0;) {
      // The most one GPU brings, untouched and touched, by number destroyed.
      int idle_gain = 0;
      std::vector<int> gain(levels, 0);
      const auto twin = problem.bins[static_cast<std::size_t>(g)].twin_of;
      for (const auto& group : groups[static_cast<std::size_t>(twin >= 0 ? twin : g)]) {
        const int brings = value(measures_[m], group.delta);
        if (!group.touched) {
          idle_gain = std::max(idle_gain, brings);
        } else if (group.destroyed <= max_destroyed) {
          auto& most = gain[static_cast<std::size_t>(group.destroyed)];
          most = std::max(most, brings);
        }
      }
      for (int d = 0; d <= max_destroyed; ++d) {
        for (int t = 0; t <= bins_; ++t) {
          int best = idle_gain + best_[cell(m, g + 1, d, t)];
          for (int here = 0; t > 0 && here <= d; ++here)
            best = std::max(best, gain[static_cast<std::size_t>(here)] + best_[cell(m, g + 1, d - here, t - 1)]);
          best_[cell(m, g, d, t)] = best;
        }
      }
    }
  }
}

void PackBounds::find_measures(const PackProblem& problem) {
  // A kind's size: the smallest share of a GPU it takes anywhere, in thousandths (boards differ in units).
  std::vector<int> size(static_cast<std::size_t>(kinds_), 0);
  std::set<int> sizes;
  for (int k = 0; k < kinds_; ++k) {
    int smallest = 0;
    for (const auto& bin : problem.bins) {
      const auto& wanted = bin.kinds[static_cast<std::size_t>(k)];
      if (!wanted || bin.geometry->units() == 0) continue;
      const int share =
          bin.geometry->profiles()[static_cast<std::size_t>(wanted->profile)].size * 1000 / bin.geometry->units();
      smallest = smallest == 0 ? share : std::min(smallest, share);
    }
    size[static_cast<std::size_t>(k)] = std::max(smallest, 1);
    sizes.insert(std::max(smallest, 1));
    Measure alone;
    alone.weight[static_cast<std::size_t>(k)] = 1;
    measures_.push_back(alone);
  }
  for (const int least : sizes) {
    Measure large;
    for (int k = 0; k < kinds_; ++k)
      if (size[static_cast<std::size_t>(k)] >= least)
        large.weight[static_cast<std::size_t>(k)] = size[static_cast<std::size_t>(k)];
    measures_.push_back(large);
  }
}

int PackBounds::value(const Measure& measure, const Need& need) const {
  int sum = 0;
  for (int k = 0; k < kinds_; ++k)
    sum += measure.weight[static_cast<std::size_t>(k)] * std::max<int>(need[static_cast<std::size_t>(k)], 0);
  return sum;
}

std::size_t PackBounds::cell(std::size_t measure, int bin, int destroyed, int touched) const {
  const auto bins = static_cast<std::size_t>(bins_ + 1);
  const auto levels = static_cast<std::size_t>(max_destroyed_ + 1);
  return ((measure * bins + static_cast<std::size_t>(bin)) * levels + static_cast<std::size_t>(destroyed)) * bins +
         static_cast<std::size_t>(touched);
}

bool PackBounds::may_meet(const Need& need, int from, int destroyed, int touched) const {
  for (std::size_t m = 0; m < measures_.size(); ++m)
    if (value(measures_[m], need) > best_[cell(m, from, destroyed, touched)]) return false;
  return true;
}

}  // namespace partita::plan
