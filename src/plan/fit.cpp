// Places shapes largest first, each shape's places from the highest start down, so that every set of places is met
// once. What may still be created afterwards, by the counts, is the same for every placing of one multiset: it gives
// each shape a weight, and openness is the weighted number of free places, a table look-up.
#include "plan/fit.h"

#include <algorithm>
#include <array>
#include <bit>

#include "plan/fit_search.h"
#include "plan/tally.h"

namespace partita::plan {

namespace {

constexpr std::size_t kMaxShapes = kMaxProfiles;

struct Spot {
  std::uint8_t shape = 0;
  std::uint8_t place = 0;
};

class Search {
 public:
  Search(const Geometry& geometry, std::span<const Placed> pinned, std::span<const int> counts)
      : geometry_(geometry), tally_(geometry) {
    for (const auto& instance : pinned) {
      tally_.add(instance.profile);
      occupied_ |= geometry.cells_of(instance.profile, instance.start);
    }
    int size = 0;
    for (std::size_t p = 0; p < counts.size(); ++p) {
      const int n = std::min(counts[p], 100);  // more than any GPU holds
      if (n <= 0) continue;
      tally_.add(static_cast<int>(p), n);
      wanted_ += n;
      if (p >= geometry.profiles().size()) break;
      const auto shape = static_cast<std::size_t>(geometry.profiles()[p].shape);
      need_[shape] = static_cast<std::int16_t>(need_[shape] + n);
      size += std::popcount(cells_of_shape(shape)) * n;
    }
    const int free = geometry.cells() - std::popcount(occupied_);
    possible_ = wanted_ == 0 || (size <= free && tally_.allowed());
    full_ = size == free;
  }

  // Finds a placing; the best one when `best`, else the first.
  bool run(bool best) {
    if (!possible_) return false;
    if (best) weigh();
    any_will_do_ = !best || full_ || !weighty_;
    descend(0, occupied_);
    return best_open_ >= 0;
  }

  int open() {
    weigh();
    return wanted_ == 0 ? openness(occupied_) : best_open_;
  }

  // Within a shape, the lower profile index gets the higher start.
  std::vector<Placed> placed(std::span<const int> counts) const {
    std::vector<Placed> result;
    result.reserve(static_cast<std::size_t>(wanted_));
    std::array<std::uint8_t, kMaxGpuInstances + 1> used{};
    for (std::size_t p = 0; p < counts.size(); ++p) {
      int left = counts[p];
      for (int i = 0; i < wanted_ && left > 0; ++i) {
        const auto spot = best_[static_cast<std::size_t>(i)];
        if (used[static_cast<std::size_t>(i)] != 0 || spot.shape != geometry_.profiles()[p].shape) continue;
        used[static_cast<std::size_t>(i)] = 1;
        result.push_back({static_cast<int>(p), geometry_.shapes()[spot.shape].places[spot.place].start});
        --left;
      }
    }
    std::ranges::sort(result, {}, &Placed::start);
    return result;
  }

 private:
  SliceMask cells_of_shape(std::size_t shape) const {
    const auto& places = geometry_.shapes()[shape].places;
    return places.empty() ? ~SliceMask{0} : places.front().mask;
  }

  void weigh() {
    if (weighed_) return;
    weighed_ = true;
    for (std::size_t p = 0; p < geometry_.profiles().size(); ++p) {
      if (!tally_.allows_more(static_cast<int>(p))) continue;
      ++weight_[static_cast<std::size_t>(geometry_.profiles()[p].shape)];
      weighty_ = true;
    }
  }

  int openness(SliceMask occupied) const {
    const auto* free = geometry_.free_places(occupied);
    int open = 0;
    for (std::size_t s = 0; s < geometry_.shapes().size(); ++s) open += weight_[s] * free[s];
    return open;
  }

  // All shapes before `shape` are placed. True: stop searching.
  bool descend(std::size_t shape, SliceMask occupied) {
    while (shape < geometry_.shapes().size() && need_[shape] == 0) ++shape;
    if (shape == geometry_.shapes().size()) return arrive(occupied);
    const auto* free = geometry_.free_places(occupied);
    for (std::size_t s = shape; s < geometry_.shapes().size(); ++s)
      if (free[s] < need_[s]) return false;
    if (!any_will_do_ && best_open_ >= 0 && openness(occupied) <= best_open_) return false;
    return place(shape, 0, need_[shape], occupied);
  }

  bool place(std::size_t shape, std::size_t from, int left, SliceMask occupied) {
    if (left == 0) return descend(shape + 1, occupied);
    const auto& places = geometry_.shapes()[shape].places;
    for (std::size_t i = from; i + static_cast<std::size_t>(left) <= places.size(); ++i) {
      if ((places[i].mask & occupied) != 0) continue;
      now_[static_cast<std::size_t>(depth_++)] = {static_cast<std::uint8_t>(shape), static_cast<std::uint8_t>(i)};
      const bool stop = place(shape, i + 1, left - 1, occupied | places[i].mask);
      --depth_;
      if (stop) return true;
    }
    return false;
  }

  bool arrive(SliceMask occupied) {
    const int open = any_will_do_ ? 0 : openness(occupied);
    if (open <= best_open_) return false;
    best_open_ = open;
    best_ = now_;
    return any_will_do_;
  }

  const Geometry& geometry_;
  Tally tally_;
  SliceMask occupied_ = 0;
  int wanted_ = 0;
  bool possible_ = false;
  bool full_ = false;
  bool weighed_ = false;
  bool weighty_ = false;
  bool any_will_do_ = false;
  int depth_ = 0;
  int best_open_ = -1;
  std::array<std::int16_t, kMaxShapes> need_{};
  std::array<std::int16_t, kMaxShapes> weight_{};
  std::array<Spot, kMaxGpuInstances> now_{};
  std::array<Spot, kMaxGpuInstances> best_{};
};

}  // namespace

std::optional<std::vector<Placed>> fit(const Geometry& geometry, std::span<const Placed> pinned,
                                       std::span<const int> counts) {
  Search search(geometry, pinned, counts);
  if (!search.run(true)) return std::nullopt;
  return search.placed(counts);
}

bool fits(const Geometry& geometry, std::span<const Placed> pinned, std::span<const int> counts) {
  return Search(geometry, pinned, counts).run(false);
}

std::optional<BestFit> best_fit(const Geometry& geometry, std::span<const Placed> pinned, std::span<const int> counts) {
  Search search(geometry, pinned, counts);
  if (!search.run(true)) return std::nullopt;
  return BestFit{search.placed(counts), search.open()};
}

}  // namespace partita::plan
