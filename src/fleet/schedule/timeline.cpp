#include "fleet/schedule/timeline.h"

#include <cmath>
#include <tuple>

#include "fleet/schedule/exclusive.h"
#include "plan/geometry.h"

namespace partita::fleet {

namespace {

Micros micros(double seconds) { return std::llround(seconds * 1e6); }

std::vector<OrderedPlace> places_of(const Kind& kind, const std::vector<bool>& used,
                                    const std::vector<ReconfigureTime>& times, Direction direction) {
  const plan::Geometry geometry(*kind.board);
  const Exclusive exclusive(geometry);
  plan::SliceMask pinned = 0;
  std::vector<int> pinned_profiles;
  std::vector<OrderedPlace> there;
  const auto place = [&](int p, int start, bool is_there) {
    const auto& time = times[static_cast<std::size_t>(p)];
    return OrderedPlace{{p, start},
                        geometry.units_of(p, start),
                        is_there ? 0 : micros(time.create_s),
                        micros(time.destroy_s),
                        is_there};
  };
  for (const auto& each : kind.state) {
    if (each.pinned) {
      pinned |= geometry.units_of(each.placed.profile, each.placed.start);
      pinned_profiles.push_back(each.placed.profile);
    } else {
      there.push_back(place(each.placed.profile, each.placed.start, true));
    }
  }
  std::vector<OrderedPlace> splitting;
  const auto beside_pinned = [&](std::size_t p) {
    return std::ranges::none_of(pinned_profiles, [&](int q) { return exclusive(static_cast<int>(p), q); });
  };
  for (std::size_t p = 0; p < geometry.profiles().size(); ++p)
    for (const auto& at : geometry.profiles()[p].placements)
      if (used[p] && (at.mask & pinned) == 0 && beside_pinned(p))
        splitting.push_back(place(static_cast<int>(p), at.start, false));
  std::ranges::stable_sort(splitting, [&](const OrderedPlace& a, const OrderedPlace& b) {
    const auto key = [&](const OrderedPlace& each) {
      return std::tuple(-std::popcount(each.units),
                        -geometry.profiles()[static_cast<std::size_t>(each.placed.profile)].compute_slices,
                        each.placed.start);
    };
    return key(a) < key(b);
  });
  std::vector<OrderedPlace> out = std::move(there);
  if (direction != Direction::splitting) out.insert(out.end(), splitting.rbegin(), splitting.rend());
  if (direction == Direction::splitting) out.insert(out.end(), splitting.begin(), splitting.end());
  if (direction == Direction::both && !splitting.empty()) out.insert(out.end(), splitting.begin() + 1, splitting.end());
  return out.size() > kMostPlaces ? places_of(kind, used, times, Direction::splitting) : out;
}

}  // namespace

Order order_of(const Kind& kind, const std::vector<bool>& used, const std::vector<ReconfigureTime>& times,
               Direction direction) {
  Order out{places_of(kind, used, times, direction), 0, kind.board->placement_units};
  const Exclusive exclusive{plan::Geometry(*kind.board)};
  const auto together = [&](const OrderedPlace& a, const OrderedPlace& b) {
    return (a.units & b.units) == 0 && !exclusive(a.placed.profile, b.placed.profile);
  };
  for (std::size_t i = 0; i < out.places.size(); ++i) {
    if (out.places[i].there) out.there |= PlaceSet{1} << i;
    for (std::size_t j = 0; j < i; ++j) {
      if (together(out.places[i], out.places[j])) continue;
      out.places[i].overlaps_before |= PlaceSet{1} << j;
      out.places[j].overlaps_after |= PlaceSet{1} << i;
    }
  }
  return out;
}

}  // namespace partita::fleet
