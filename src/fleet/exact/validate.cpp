#include "fleet/exact/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace partita::fleet {

namespace {

std::unexpected<Error> wrong(std::string message) { return fail(ErrorCode::internal, "plan: " + std::move(message)); }

// The rules of one GPU, from its board's table.
Result<void> check_gpu(const catalog::Board& board, const std::vector<Instance>& instances, const std::string& where) {
  std::set<int> units;
  std::map<int, int> count;
  int me = 0, me_all = 0, media = 0;
  for (const auto& instance : instances) {
    const auto [p, start] = instance.placed;
    if (p < 0 || static_cast<std::size_t>(p) >= board.profiles.size()) return wrong(where + ": no such profile");
    const auto& profile = board.profiles[static_cast<std::size_t>(p)];
    if (std::ranges::find(profile.placements, start) == profile.placements.end())
      return wrong(fmt::format("{}: {} may not start at {}", where, profile.name, start));
    for (int unit = start; unit < start + profile.placement_size; ++unit)
      if (!units.insert(unit).second) return wrong(fmt::format("{}: unit {} is taken twice", where, unit));
    if (++count[p] > profile.max_instances) return wrong(fmt::format("{}: too many {}", where, profile.name));
    me += profile.attributes.me ? 1 : 0;
    me_all += profile.attributes.me_all ? 1 : 0;
    media += profile.attributes.no_me ? 0 : 1;
  }
  if (me > 1) return wrong(where + ": more than one instance with media extensions");
  if (me_all > 0 && media > 1) return wrong(where + ": media engines beside an instance that has them all");
  if (instances.size() > 8) return wrong(where + ": more than 8 GPU instances");
  return {};
}

// Kept and destroyed ones are those that were there.
Result<void> check_history(const Kind& kind, const Group& group, const std::string& where) {
  std::multiset<std::pair<plan::Placed, bool>> before, after;
  for (const auto& occupant : kind.state) before.emplace(occupant.placed, occupant.pinned);
  for (const auto& instance : group.instances)
    if (instance.is != Instance::Is::created) after.emplace(instance.placed, instance.is == Instance::Is::pinned);
  for (const auto& placed : group.destroyed) after.emplace(placed, false);
  if (before != after) return wrong(where + ": what is kept and destroyed is not what was there");
  for (const auto& instance : group.instances)
    if (instance.is == Instance::Is::pinned && instance.want >= 0)
      return wrong(where + ": a pinned instance serves the demand");
  return {};
}

Result<void> check_counts(const Fleet& fleet, const Plan& plan) {
  std::map<int, std::int64_t> gpus;
  for (const auto& group : plan.groups) gpus[group.kind] += group.count;
  for (std::size_t k = 0; k < fleet.kinds.size(); ++k)
    if (const auto& count = fleet.kinds[k].count; count && gpus[static_cast<int>(k)] != *count)
      return wrong(fmt::format("kind {}: {} GPUs planned of {}", k, gpus[static_cast<int>(k)], *count));
  return {};
}

Result<void> check_wants(const Demand& demand, const Plan& plan) {
  std::map<std::tuple<int, int, int>, double> weights;  // want, kind, profile
  for (std::size_t w = 0; w < demand.wants.size(); ++w)
    for (const auto& server : demand.wants[w].servers)
      weights[{static_cast<int>(w), server.kind, server.profile}] = server.weight;
  std::vector<double> met(demand.wants.size());
  for (const auto& group : plan.groups) {
    for (const auto& instance : group.instances) {
      if (instance.want < 0) continue;
      const auto weight = weights.find({instance.want, group.kind, instance.placed.profile});
      if (weight == weights.end()) return wrong("an instance serves what it cannot serve");
      met[static_cast<std::size_t>(instance.want)] += weight->second * static_cast<double>(group.count);
    }
  }
  for (std::size_t w = 0; w < met.size(); ++w)
    if (met[w] < demand.wants[w].amount * (1 - 1e-6))
      return wrong(fmt::format("{}: {} of {} served", demand.wants[w].name, met[w], demand.wants[w].amount));
  return {};
}

Result<void> check_levels(const Fleet& fleet, const Plan& plan) {
  const auto sums = totals(fleet, plan);
  for (const auto& level : plan.levels) {
    const auto value = value_of(sums, level.name);
    if (!value) return wrong("no such level: " + level.name);
    if (std::abs(*value - level.value) > 1e-6 * std::max(1.0, std::abs(level.value)))
      return wrong(fmt::format("{} is {}, said to be {}", level.name, *value, level.value));
    if (level.bound > level.value + 1e-6) return wrong(level.name + ": the bound is above the value");
  }
  return {};
}

}  // namespace

Result<void> validate(const Fleet& fleet, const Demand& demand, const Plan& plan) {
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto& group = plan.groups[g];
    const auto where = fmt::format("group {}", g);
    if (group.kind < 0 || static_cast<std::size_t>(group.kind) >= fleet.kinds.size() || group.count < 1)
      return wrong(where + ": no such kind, or no GPUs");
    const auto& kind = fleet.kinds[static_cast<std::size_t>(group.kind)];
    TRY_VOID(check_gpu(*kind.board, group.instances, where));
    TRY_VOID(check_history(kind, group, where));
  }
  TRY_VOID(check_counts(fleet, plan));
  TRY_VOID(check_wants(demand, plan));
  return check_levels(fleet, plan);
}

}  // namespace partita::fleet
