#include "layout/compute_fill.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace partita::layout {

namespace {

const catalog::ComputeProfile& row(const catalog::Profile& profile, int compute) {
  return profile.compute[static_cast<std::size_t>(compute)];
}

// Places the first of `compute` wherever it may go, then the rest. At most 8 instances: the search is tiny.
bool place(const catalog::Profile& profile, std::span<const int> compute, std::uint64_t used) {
  if (compute.empty()) return true;
  const auto& first = row(profile, compute[0]);
  for (const int start : first.placements) {
    const std::uint64_t mask = ((std::uint64_t{1} << first.placement_size) - 1) << start;
    if ((used & mask) == 0 && place(profile, compute.subspan(1), used | mask)) return true;
  }
  return false;
}

}  // namespace

bool holds(const catalog::Profile& profile, const std::vector<int>& compute) {
  constexpr std::size_t kMostInOne = 8;
  if (compute.size() > kMostInOne) return false;
  for (const int c : compute)
    if (std::ranges::count(compute, c) > row(profile, c).max_instances) return false;
  auto sorted = compute;  // large ones first: fewer dead ends
  std::ranges::sort(sorted, std::ranges::greater(), [&](int c) { return row(profile, c).placement_size; });
  return place(profile, sorted, 0);
}

std::vector<std::vector<int>> fill(const catalog::Profile& profile, std::vector<int> compute) {
  std::ranges::sort(compute, std::ranges::greater(),
                    [&](int c) { return std::pair(row(profile, c).compute_slices, -c); });
  std::vector<std::vector<int>> instances;
  for (const int c : compute) {
    const auto room = std::ranges::find_if(instances, [&](std::vector<int> inside) {
      inside.push_back(c);
      return holds(profile, inside);
    });
    if (room == instances.end())
      instances.push_back({c});
    else
      room->push_back(c);
  }
  for (auto& inside : instances) std::ranges::sort(inside);
  return instances;
}

}  // namespace partita::layout
