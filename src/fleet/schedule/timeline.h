// What happens on one GPU when jobs are put on its places. Inside fleet/ only.
//
// The places of an order are cut in turn: one is created when all earlier ones that overlap it and are used are gone.
// Of what is ready, the GPU first creates or destroys what the longest chain of work waits for.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "fleet/exact/fleet.h"
#include "fleet/schedule/jobs.h"

namespace partita::fleet {

using Micros = std::int64_t;

// Positions in an order are bits of a word.
using PlaceSet = std::uint64_t;
inline constexpr int kMostPlaces = 64;

struct OrderedPlace {
  plan::Placed placed;
  plan::SliceMask units = 0;
  Micros create = 0, destroy = 0;
  bool there = false;                                // from the start
  PlaceSet overlaps_before = 0, overlaps_after = 0;  // or else never on one GPU together
};

struct Order {
  std::vector<OrderedPlace> places;
  PlaceSet there = 0;
  int units = 0;  // of the GPU
};

enum class Direction { splitting, merging, both };

// The places of a kind of GPU that jobs may use: profiles with `used[p]`, beside what is pinned. What is there comes
// first.
Order order_of(const Kind& kind, const std::vector<bool>& used, const std::vector<ReconfigureTime>& times,
               Direction direction);

struct PlaceTimes {
  Micros create = 0, ready = 0, end = 0, destroy = -1, gone = -1;
};

struct Played {
  Micros end = 0;        // of the last job
  double mean_unit = 0;  // until when a unit of the GPU is used, on average
};

// Plays the places in `active` (those with jobs). `load[i]`: their jobs' time. `run(i, t)`: when the jobs of place i
// end if it is ready at t. `times`: filled for the active places and for what was there and is destroyed; or nullptr.
template <class Run>
Played play(const Order& order, PlaceSet active, const Micros* load, const Run& run, PlaceTimes* times = nullptr);

template <class Run>
class Player {
 public:
  Player(const Order& order, PlaceSet active, const Micros* load, const Run& run, PlaceTimes* times)
      : order_(order), load_(load), run_(run), times_(times) {
    // What is there and in nobody's way takes no part.
    PlaceSet reached = 0;
    each(active, [&](int i) { reached |= place(i).overlaps_before; });
    active_ = active | (order.there & reached);
    for (PlaceSet s = active_; s != 0;) {
      const int i = 63 - std::countl_zero(s);
      s &= ~bit(i);
      Micros longest = 0;
      each(place(i).overlaps_after & active_, [&](int j) { longest = std::max(longest, chain_[at(j)]); });
      chain_[at(i)] = longest + load[i] + place(i).create + place(i).destroy;
      waits_for_[at(i)] = place(i).overlaps_before & active_;
      ready_[at(i)] = 0;
      if (waits_for_[at(i)] == 0) to_create_ |= bit(i);
    }
  }

  Played operator()() {
    while ((to_create_ | to_destroy_) != 0) step();
    Micros sum = 0;
    for (int u = 0; u < order_.units; ++u) sum += unit_end_[at(u)];
    return {end_, static_cast<double>(sum) / std::max(1, order_.units)};
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static PlaceSet bit(int i) { return PlaceSet{1} << i; }
  const OrderedPlace& place(int i) const { return order_.places[at(i)]; }
  template <class F>
  static void each(PlaceSet set, const F& f) {
    for (; set != 0; set &= set - 1) f(std::countr_zero(set));
  }

  void step() {
    const PlaceSet candidates = to_create_ | to_destroy_;
    Micros first = std::numeric_limits<Micros>::max();
    each(candidates, [&](int i) { first = std::min(first, ready_[at(i)]); });
    const Micros now = std::max(free_, first);
    int best = -1;
    Micros longest = -1;
    each(candidates, [&](int i) {
      if (ready_[at(i)] > now) return;
      const Micros chain = chain_[at(i)] - ((to_destroy_ & bit(i)) != 0 ? load_[i] : 0);
      if (chain <= longest) return;
      longest = chain;
      best = i;
    });
    if ((to_create_ & bit(best)) != 0)
      create(best, now);
    else
      destroy(best, now);
  }

  void create(int i, Micros now) {
    to_create_ &= ~bit(i);
    if (!place(i).there) free_ = now + place(i).create;
    const Micros ready = place(i).there ? 0 : free_;
    const Micros end = load_[i] > 0 ? run_(i, ready) : ready;
    if (load_[i] > 0) {
      end_ = std::max(end_, end);
      for (plan::SliceMask m = place(i).units; m != 0; m &= m - 1) {
        auto& unit = unit_end_[at(std::countr_zero(m))];
        unit = std::max(unit, end);
      }
    }
    if ((place(i).overlaps_after & active_) != 0) {
      to_destroy_ |= bit(i);
      ready_[at(i)] = end;
    }
    if (times_ != nullptr) times_[i] = {place(i).there ? 0 : now, ready, end, -1, -1};
  }

  void destroy(int i, Micros now) {
    to_destroy_ &= ~bit(i);
    free_ = now + place(i).destroy;
    each(place(i).overlaps_after & active_, [&](int j) {
      waits_for_[at(j)] &= ~bit(i);
      ready_[at(j)] = std::max(ready_[at(j)], free_);
      if (waits_for_[at(j)] == 0) to_create_ |= bit(j);
    });
    if (times_ != nullptr) {
      times_[i].destroy = now;
      times_[i].gone = free_;
    }
  }

  const Order& order_;
  const Micros* load_;
  const Run& run_;
  PlaceTimes* times_;
  PlaceSet active_ = 0, to_create_ = 0, to_destroy_ = 0;
  Micros free_ = 0, end_ = 0;  // the GPU creates and destroys again; the last job's end
  std::array<Micros, kMostPlaces> chain_, ready_;
  std::array<PlaceSet, kMostPlaces> waits_for_;
  std::array<Micros, plan::kMaxPlacementUnits> unit_end_{};
};

template <class Run>
Played play(const Order& order, PlaceSet active, const Micros* load, const Run& run, PlaceTimes* times) {
  return Player<Run>(order, active, load, run, times)();
}

}  // namespace partita::fleet
