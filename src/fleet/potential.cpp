#include "fleet/potential.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace partita::fleet {

Features::Features(std::shared_ptr<const catalog::Board> board) : board_(std::move(board)), geometry_(*board_) {
  find_regions();
  walk({}, [&](std::string name, double) { names_.push_back(std::move(name)); });
}

void Features::find_regions() {
  const plan::SliceMask all = (plan::SliceMask{1} << geometry_.cells()) - 1;
  for (const auto& profile : geometry_.profiles()) {
    for (const auto& place : profile.placements) {
      const auto mask = geometry_.to_cells(place.mask);
      if (std::popcount(mask) < 2 || std::ranges::find(regions_, mask, &Region::mask) != regions_.end()) continue;
      const bool whole = mask == all;
      regions_.push_back(
          {mask, whole ? "all" : fmt::format("{}-{}", std::countr_zero(mask), std::bit_width(mask) - 1), false, whole});
    }
  }
  std::ranges::sort(regions_, {}, [](const Region& r) { return std::pair(-std::popcount(r.mask), r.mask); });
  for (auto& region : regions_) region.smallest = !region.whole && std::popcount(region.mask) == 2;
  for (const auto& whole : regions_)
    for (std::size_t i = 0; i < regions_.size(); ++i)
      for (std::size_t j = i + 1; j < regions_.size(); ++j)
        if ((regions_[i].mask & regions_[j].mask) == 0 && (regions_[i].mask | regions_[j].mask) == whole.mask)
          halves_.push_back({i, j});
  for (std::size_t s = 0; s < geometry_.shapes().size(); ++s) {
    const auto& places = geometry_.shapes()[s].places;
    if (places.size() >= 3 && std::popcount(places.front().mask) >= 2) counted_shapes_.push_back(s);
  }
}

template <class Emit>
void Features::walk(std::span<const plan::Placed> placed, const Emit& emit) const {
  plan::SliceMask occupied = 0;
  int compute = 0;
  int media = 0;
  std::array<int, plan::kMaxPlacementUnits> held{};  // instances per region
  for (const auto& each : placed) {
    const auto mask = geometry_.cells_of(each.profile, each.start);
    const auto& profile = geometry_.profiles()[static_cast<std::size_t>(each.profile)];
    occupied |= mask;
    compute += profile.compute_slices;
    media += profile.me ? 1 : 0;
    for (std::size_t r = 0; r < regions_.size() && r < held.size(); ++r) {
      const bool larger =
          std::popcount(mask) > std::popcount(regions_[r].mask) || (regions_[r].whole && mask == regions_[r].mask);
      if ((mask & regions_[r].mask) != 0 && !larger) ++held[r];
    }
  }
  const auto yes = [](bool is) { return is ? 1.0 : 0.0; };
  const auto is_free = [&](std::size_t r) { return (regions_[r].mask & occupied) == 0; };
  const auto is_full = [&](std::size_t r) { return (regions_[r].mask & ~occupied) == 0; };
  emit("instances", static_cast<double>(placed.size()));
  emit("compute", compute);
  emit("media", media);
  for (std::size_t r = 0; r < regions_.size() && r < held.size(); ++r) {
    const auto& name = regions_[r].name;
    emit("free " + name, yes(is_free(r)));
    if (regions_[r].smallest) {
      emit("part " + name, yes(!is_free(r) && !is_full(r)));
      continue;
    }
    emit("one " + name, yes(held[r] == 1));
    emit("two " + name, yes(held[r] == 2));
    if (regions_[r].whole) emit("three " + name, yes(held[r] == 3));
  }
  for (const auto& [a, b] : halves_) {
    for (const auto& [f, o] : {std::pair(a, b), std::pair(b, a)}) {
      const auto& free = regions_[f].name;
      const auto& other = regions_[o].name;
      if (regions_[f].smallest) {
        emit(fmt::format("free {} used {}", free, other), yes(is_free(f) && !is_free(o)));
        continue;
      }
      emit(fmt::format("free {} one {}", free, other), yes(is_free(f) && held[o] == 1));
      emit(fmt::format("free {} two {}", free, other), yes(is_free(f) && held[o] == 2));
      emit(fmt::format("free {} many {}", free, other), yes(is_free(f) && held[o] >= 2));
    }
    if (!regions_[a].smallest)
      emit(fmt::format("one {} one {}", regions_[a].name, regions_[b].name), yes(held[a] == 1 && held[b] == 1));
  }
  for (const auto s : counted_shapes_) {
    const auto left = geometry_.free_places(occupied)[s];
    const auto& shape = geometry_.shapes()[s];
    for (const int n : {1, 2})
      emit(fmt::format("{} left of {}x{}", n, shape.places.size(), std::popcount(shape.places.front().mask)),
           yes(left == n));
  }
}

std::vector<double> Features::of(std::span<const plan::Placed> placed) const {
  std::vector<double> out;
  out.reserve(names_.size());
  walk(placed, [&](const std::string&, double value) { out.push_back(value); });
  return out;
}

FeatureTable::FeatureTable(const GpuStates& states, const Features& features) : columns_(features.names().size()) {
  values_.reserve(states.size() * columns_);
  for (StateId state = 0; state < states.size(); ++state)
    for (const double value : features.of(states.placed(state))) values_.push_back(value);
}

bool FeatureTable::varies(std::size_t feature) const {
  for (auto i = feature; i < values_.size(); i += columns_)
    if (values_[i] != values_[feature]) return true;
  return false;
}

std::vector<double> FeatureTable::potentials(const Potential& potential) const {
  std::vector<double> out;
  const auto columns = static_cast<std::ptrdiff_t>(columns_);
  for (auto row = values_.begin(); row != values_.end(); row += columns)
    out.push_back(std::inner_product(row, row + columns, potential.weights.begin(), 0.0));
  return out;
}

}  // namespace partita::fleet
