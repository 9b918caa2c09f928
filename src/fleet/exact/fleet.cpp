#include "fleet/exact/fleet.h"

#include <algorithm>
#include <cmath>

namespace partita::fleet {

bool Plan::optimal() const { return std::ranges::all_of(levels, &Level::proven); }

bool used(const Group& group) {
  return std::ranges::any_of(group.instances, [](const Instance& instance) {
    return instance.want >= 0 || instance.is == Instance::Is::pinned;
  });
}

bool touched(const Group& group) {
  return !group.destroyed.empty() || std::ranges::any_of(group.instances, [](const Instance& instance) {
    return instance.is == Instance::Is::created;
  });
}

double sum_of_prices(double sum) { return std::round(sum * 1e9) / 1e9; }

Totals totals(const Fleet& fleet, const Plan& plan) {
  Totals out;
  for (const auto& group : plan.groups) {
    const auto& kind = fleet.kinds[static_cast<std::size_t>(group.kind)];
    if (used(group)) {
      out.gpus_used += group.count;
      out.cost += kind.price * static_cast<double>(group.count);
      if (!kind.count) out.cost_added += kind.price * static_cast<double>(group.count);
    }
    if (touched(group)) out.gpus_touched += group.count;
    out.destroyed += group.count * static_cast<std::int64_t>(group.destroyed.size());
    for (const auto& instance : group.instances) {
      if (instance.is == Instance::Is::created) out.created += group.count;
      if (instance.want < 0) continue;
      const auto& profile = kind.board->profiles[static_cast<std::size_t>(instance.placed.profile)];
      out.compute_slices += group.count * profile.compute_slices;
      out.memory_slices += group.count * profile.memory_slices;
    }
  }
  out.cost = sum_of_prices(out.cost);
  out.cost_added = sum_of_prices(out.cost_added);
  return out;
}

std::optional<double> value_of(const Totals& sums, std::string_view level) {
  if (level == "cost") return sums.cost;
  if (level == "GPUs touched") return static_cast<double>(sums.gpus_touched);
  if (level == "instances destroyed") return static_cast<double>(sums.destroyed);
  if (level == "instances created") return static_cast<double>(sums.created);
  if (level == "cost of added GPUs") return sums.cost_added;
  if (level == "compute slices") return static_cast<double>(sums.compute_slices);
  return std::nullopt;
}

}  // namespace partita::fleet
