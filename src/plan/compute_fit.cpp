#include "plan/compute_fit.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace partita::plan {

namespace {

constexpr std::size_t kMaxCompute = 8;  // per GPU instance

bool overlap(const catalog::Profile& instance, const ComputePlaced& a, const ComputePlaced& b) {
  const int a_size = instance.compute[static_cast<std::size_t>(a.profile)].placement_size;
  const int b_size = instance.compute[static_cast<std::size_t>(b.profile)].placement_size;
  return a.start < b.start + b_size && b.start < a.start + a_size;
}

// Adds the profiles of `left` to `placed` at the lowest possible starts; exact. `above` is the start of the last one
// added when it was of the same profile: equal ones go upwards, so that each set of places is tried once.
bool place_all(const catalog::Profile& instance, std::span<const int> left, int above,
               std::vector<ComputePlaced>& placed) {
  if (left.empty()) return valid_compute(instance, placed);
  const auto profile = left.back();
  const auto rest = left.first(left.size() - 1);
  for (const int start : instance.compute[static_cast<std::size_t>(profile)].placements) {
    const ComputePlaced here{profile, start};
    if (start <= above || std::ranges::any_of(placed, [&](const auto& p) { return overlap(instance, p, here); }))
      continue;
    placed.push_back(here);
    const bool same_next = !rest.empty() && rest.back() == profile;
    if (place_all(instance, rest, same_next ? start : -1, placed)) return true;
    placed.pop_back();
  }
  return false;
}

// Takes the profiles of `kept` out of `wanted`; false when one is not there.
bool take(std::span<const ComputePlaced> kept, std::vector<int>& wanted) {
  for (const auto& compute : kept) {
    const auto found = std::ranges::find(wanted, compute.profile);
    if (found == wanted.end()) return false;
    wanted.erase(found);
  }
  return true;
}

ComputeChange difference(std::vector<ComputePlaced> live, std::vector<ComputePlaced> target) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start < b.start; };
  std::ranges::sort(live);
  std::ranges::sort(target);
  ComputeChange change;
  std::ranges::set_difference(live, target, std::back_inserter(change.destroy));
  std::ranges::set_difference(target, live, std::back_inserter(change.create));
  std::ranges::sort(change.destroy, by_start);
  std::ranges::sort(change.create, by_start);
  return change;
}

std::optional<ComputeChange> change_to_fixed(const catalog::Profile& instance, std::span<const ComputePlaced> live,
                                             const layout::WantedInstance& wanted, std::span<const int> starts) {
  if (starts.size() != wanted.compute.size()) return std::nullopt;
  std::vector<ComputePlaced> target;
  for (std::size_t i = 0; i < starts.size(); ++i) target.push_back({wanted.compute[i], starts[i]});
  if (!valid_compute(instance, target)) return std::nullopt;
  return difference({live.begin(), live.end()}, std::move(target));
}

}  // namespace

bool valid_compute(const catalog::Profile& instance, std::span<const ComputePlaced> placed) {
  if (placed.size() > kMaxCompute) return false;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto& at = placed[i];
    if (at.profile < 0 || at.profile >= static_cast<int>(instance.compute.size())) return false;
    const auto& profile = instance.compute[static_cast<std::size_t>(at.profile)];
    if (std::ranges::find(profile.placements, at.start) == profile.placements.end()) return false;
    if (std::ranges::count(placed, at.profile, &ComputePlaced::profile) > profile.max_instances) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(instance, at, placed[j])) return false;
  }
  return true;
}

std::vector<ComputePlaced> compute_placed(std::span<const layout::ComputeInstance> live) {
  std::vector<ComputePlaced> placed;
  placed.reserve(live.size());
  for (const auto& compute : live) placed.push_back({compute.profile, compute.placement.start});
  return placed;
}

std::optional<ComputeChange> change_compute(const catalog::Profile& instance, std::span<const ComputePlaced> live,
                                            const layout::WantedInstance& wanted) {
  if (wanted.compute_starts) return change_to_fixed(instance, live, wanted, *wanted.compute_starts);
  std::vector<int> all(wanted.compute);
  std::ranges::sort(all);
  if (!all.empty() && (all.front() < 0 || all.back() >= static_cast<int>(instance.compute.size()))) return std::nullopt;
  const auto n = std::min(live.size(), kMaxCompute);
  std::optional<ComputeChange> best;
  for (std::uint32_t keep = (1U << n); keep-- > 0;) {
    if (best && std::popcount(keep) <= static_cast<int>(live.size() - best->destroy.size())) continue;
    std::vector<ComputePlaced> kept;
    for (std::size_t i = 0; i < n; ++i)
      if (((keep >> i) & 1U) != 0) kept.push_back(live[i]);
    auto left = all;
    if (!take(kept, left)) continue;
    if (left.empty()) {
      best = difference({live.begin(), live.end()}, std::move(kept));
      continue;
    }
    auto placed = kept;
    if (place_all(instance, left, -1, placed)) best = difference({live.begin(), live.end()}, std::move(placed));
  }
  return best;
}

}  // namespace partita::plan
