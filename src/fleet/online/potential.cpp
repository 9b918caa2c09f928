#include "fleet/online/potential.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

namespace partita::fleet {

namespace {

double yes(bool is) { return is ? 1 : 0; }

}  // namespace

Features::Features(std::shared_ptr<const catalog::Board> board) : board_(std::move(board)), geometry_(*board_) {
  find_regions();
  walk({}, [&](const auto& name, double) { names_.push_back(name()); });
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
  if (regions_.size() > kMostRegions) regions_.resize(kMostRegions);  // no board has nearly as many
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

struct Features::Tally {
  plan::SliceMask occupied = 0;
  int instances = 0, compute = 0, media = 0;
  std::array<int, kMostRegions> held{};  // instances per region

  bool free(const Region& region) const { return (region.mask & occupied) == 0; }
  bool full(const Region& region) const { return (region.mask & ~occupied) == 0; }
};

Features::Tally Features::count(std::span<const plan::Placed> placed) const {
  Tally out;
  out.instances = static_cast<int>(placed.size());
  for (const auto& each : placed) {
    const auto mask = geometry_.cells_of(each.profile, each.start);
    const auto& profile = geometry_.profiles()[static_cast<std::size_t>(each.profile)];
    out.occupied |= mask;
    out.compute += profile.compute_slices;
    out.media += profile.me ? 1 : 0;
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      const auto& region = regions_[r];
      const bool larger = std::popcount(mask) > std::popcount(region.mask) || (region.whole && mask == region.mask);
      if ((mask & region.mask) != 0 && !larger) ++out.held[r];
    }
  }
  return out;
}

template <class Emit>
void Features::walk(std::span<const plan::Placed> placed, const Emit& emit) const {
  const auto tally = count(placed);
  const auto total = [&](std::string_view name, int value) { emit([&] { return std::string(name); }, value); };
  total("instances", tally.instances);
  total("compute", tally.compute);
  total("media", tally.media);
  for (std::size_t r = 0; r < regions_.size(); ++r) walk_region(r, tally, emit);
  for (const auto& [a, b] : halves_) {
    walk_halves(a, b, tally, emit);
    walk_halves(b, a, tally, emit);
    const auto& first = regions_[a];
    const auto& second = regions_[b];
    if (!first.smallest)
      emit([&] { return fmt::format("one {} one {}", first.name, second.name); },
           yes(tally.held[a] == 1 && tally.held[b] == 1));
  }
  for (const auto s : counted_shapes_) {
    const auto& places = geometry_.shapes()[s].places;
    for (const int n : {1, 2})
      emit([&] { return fmt::format("{} left of {}x{}", n, places.size(), std::popcount(places.front().mask)); },
           yes(geometry_.free_places(tally.occupied)[s] == n));
  }
}

template <class Emit>
void Features::walk_region(std::size_t r, const Tally& tally, const Emit& emit) const {
  const auto& region = regions_[r];
  emit([&] { return "free " + region.name; }, yes(tally.free(region)));
  if (region.smallest) {
    emit([&] { return "part " + region.name; }, yes(!tally.free(region) && !tally.full(region)));
    return;
  }
  emit([&] { return "one " + region.name; }, yes(tally.held[r] == 1));
  emit([&] { return "two " + region.name; }, yes(tally.held[r] == 2));
  if (region.whole) emit([&] { return "three " + region.name; }, yes(tally.held[r] == 3));
}

// The first is free, and the other ...
template <class Emit>
void Features::walk_halves(std::size_t first, std::size_t second, const Tally& tally, const Emit& emit) const {
  const auto& free = regions_[first];
  const auto& other = regions_[second];
  const auto say = [&](std::string_view word, bool is) {
    emit([&] { return fmt::format("free {} {} {}", free.name, word, other.name); }, yes(tally.free(free) && is));
  };
  if (free.smallest) return say("used", !tally.free(other));
  say("one", tally.held[second] == 1);
  say("two", tally.held[second] == 2);
  say("many", tally.held[second] >= 2);
}

double Features::value(std::span<const plan::Placed> placed, const Potential& potential) const {
  double sum = 0;
  auto weight = potential.weights.begin();
  walk(placed, [&](const auto& /*name*/, double value) { sum += *weight++ * value; });
  return sum;
}

std::vector<double> Features::of(std::span<const plan::Placed> placed) const {
  std::vector<double> out;
  out.reserve(names_.size());
  walk(placed, [&](const auto& /*name*/, double value) { out.push_back(value); });
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
