#include "plan/geometry.h"

#include <algorithm>
#include <tuple>

namespace partita::plan {

namespace {

// A driver with more independent cells than this does not exist; the table below would outgrow the cache.
constexpr int kMaxCells = 16;

SliceMask run_of_units(int start, int size) {
  const auto low = [](int n) {
    return n >= kMaxPlacementUnits ? ~SliceMask{0} : n <= 0 ? SliceMask{0} : (SliceMask{1} << n) - 1;
  };
  return low(start + size) & ~low(start);
}

GeometryProfile compile(const catalog::Profile& profile, int units) {
  GeometryProfile compiled;
  compiled.size = profile.placement_size;
  compiled.compute_slices = profile.compute_slices;
  compiled.max_instances = profile.max_instances;
  compiled.me = profile.attributes.me;
  compiled.me_all = profile.attributes.me_all;
  compiled.no_me = profile.attributes.no_me;
  for (const int start : profile.placements) {
    if (profile.placement_size > 0 && start >= 0 && start + profile.placement_size <= units)
      compiled.placements.push_back({start, run_of_units(start, profile.placement_size)});
  }
  std::ranges::sort(compiled.placements, {}, &GeometryPlacement::start);
  return compiled;
}

}  // namespace

Geometry::Geometry(const catalog::Board& board) : units_(std::clamp(board.placement_units, 0, kMaxPlacementUnits)) {
  for (const auto& profile : board.profiles) {
    profiles_.push_back(compile(profile, units_));
    if (profiles_.size() > kMaxProfiles) profiles_.back().placements.clear();
  }
  find_cells();
  find_shapes();
  tabulate();
}

// Units i-1 and i share a cell unless some placement begins or ends between them.
void Geometry::find_cells() {
  SliceMask borders = 0;
  for (const auto& profile : profiles_) {
    for (const auto& place : profile.placements) {
      borders |= SliceMask{1} << place.start;
      if (place.start + profile.size < units_) borders |= SliceMask{1} << (place.start + profile.size);
    }
  }
  int cell = -1;
  for (int unit = 0; unit < units_; ++unit) {
    if (unit == 0 || ((borders >> unit) & 1U) != 0) cell = std::min(cell + 1, kMaxCells - 1);
    cell_of_unit_[static_cast<std::size_t>(unit)] = static_cast<std::uint8_t>(cell);
  }
  cells_ = cell + 1;
}

void Geometry::find_shapes() {
  std::vector<std::pair<Shape, int>> found;  // shape, profile
  for (std::size_t p = 0; p < profiles_.size(); ++p) {
    Shape shape{profiles_[p].size, {}};
    for (const auto& place : profiles_[p].placements) shape.places.push_back({place.start, to_cells(place.mask)});
    std::ranges::reverse(shape.places);
    found.emplace_back(std::move(shape), static_cast<int>(p));
  }
  const auto starts = [](const Shape& shape) {
    std::vector<int> list;
    for (const auto& place : shape.places) list.push_back(place.start);
    return list;
  };
  const auto key = [&](const Shape& shape) { return std::tuple(-shape.size, shape.places.size(), starts(shape)); };
  std::ranges::stable_sort(found, {}, [&](const auto& entry) { return key(entry.first); });
  for (auto& [shape, profile] : found) {
    if (shapes_.empty() || key(shapes_.back()) != key(shape)) shapes_.push_back(std::move(shape));
    profiles_[static_cast<std::size_t>(profile)].shape = static_cast<int>(shapes_.size()) - 1;
  }
}

void Geometry::tabulate() {
  const auto states = std::size_t{1} << cells_;
  free_.reserve(states * shapes_.size());
  for (SliceMask occupied = 0; occupied < states; ++occupied) {
    for (const auto& shape : shapes_)
      free_.push_back(static_cast<std::uint8_t>(
          std::ranges::count_if(shape.places, [&](const auto& place) { return (place.mask & occupied) == 0; })));
  }
}

SliceMask Geometry::to_cells(SliceMask units) const {
  SliceMask cells = 0;
  for (int unit = 0; unit < units_; ++unit)
    if (((units >> unit) & 1U) != 0) cells |= SliceMask{1} << cell_of_unit_[static_cast<std::size_t>(unit)];
  return cells;
}

SliceMask Geometry::units_of(int profile, int start) const {
  return run_of_units(start, profiles_[static_cast<std::size_t>(profile)].size);
}

SliceMask Geometry::cells_of(int profile, int start) const {
  const auto& shape = shapes_[static_cast<std::size_t>(profiles_[static_cast<std::size_t>(profile)].shape)];
  for (const auto& place : shape.places)
    if (place.start == start) return place.mask;
  return to_cells(units_of(profile, start));
}

bool Geometry::legal(int profile, int start) const {
  if (profile < 0 || profile >= static_cast<int>(profiles_.size())) return false;
  const auto& places = profiles_[static_cast<std::size_t>(profile)].placements;
  return std::ranges::any_of(places, [&](const auto& place) { return place.start == start; });
}

bool valid(const Geometry& geometry, std::span<const Placed> instances) {
  if (instances.size() > kMaxGpuInstances) return false;
  SliceMask occupied = 0;
  int me = 0;
  int me_all = 0;
  int with_media = 0;
  for (const auto& instance : instances) {
    if (!geometry.legal(instance.profile, instance.start)) return false;
    const auto& profile = geometry.profiles()[static_cast<std::size_t>(instance.profile)];
    const auto mask = geometry.units_of(instance.profile, instance.start);
    if ((occupied & mask) != 0) return false;
    occupied |= mask;
    if (std::ranges::count(instances, instance.profile, &Placed::profile) > profile.max_instances) return false;
    me += profile.me ? 1 : 0;
    me_all += profile.me_all ? 1 : 0;
    with_media += profile.no_me ? 0 : 1;
  }
  return me <= 1 && (me_all == 0 || with_media == 1);
}

int open_placements(const Geometry& geometry, std::span<const Placed> instances) {
  std::vector<Placed> with(instances.begin(), instances.end());
  with.emplace_back();
  int open = 0;
  for (std::size_t p = 0; p < geometry.profiles().size(); ++p) {
    for (const auto& place : geometry.profiles()[p].placements) {
      with.back() = {static_cast<int>(p), place.start};
      if (valid(geometry, with)) ++open;
    }
  }
  return open;
}

}  // namespace partita::plan
