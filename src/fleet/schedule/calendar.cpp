#include "fleet/schedule/calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "fleet/exact/solve.h"
#include "fleet/schedule/exclusive.h"
#include "fleet/schedule/moment.h"

namespace partita::fleet {

namespace {

constexpr std::size_t kMostMoments = 400;  // at which the bound is computed

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Result<void> check(const Fleet& fleet, const std::vector<TimedLease>& leases) {
  std::int64_t sum = 0;
  for (const auto& lease : leases) {
    const auto wrong = [&](const std::string& what) {
      return fail(ErrorCode::invalid, "lease " + lease.name + ": " + what);
    };
    if (!(lease.from_s >= 0 && lease.from_s <= kLastSecond))
      return wrong(fmt::format("expected a begin from 0 to {:g} s, found {:g}", kLastSecond, lease.from_s));
    if (!(lease.for_s > 0 && lease.for_s <= kLastSecond))
      return wrong(fmt::format("expected a duration above 0 and up to {:g} s, found {:g}", kLastSecond, lease.for_s));
    if (lease.count < 1 || lease.servers.empty())
      return wrong("expected a count of at least 1 and a profile that serves");
    for (const auto& server : lease.servers)
      if (server.kind < 0 || at(server.kind) >= fleet.kinds.size()) return wrong("expected a kind of the fleet");
    sum += lease.count;
    if (sum > kMostLeases || lease.count > kMostLeases)
      return fail(ErrorCode::invalid, fmt::format("expected at most {} leases in all, found more", kMostLeases));
  }
  return {};
}

// What is wanted at a moment: leases that run then.
Demand demand_at(const std::vector<TimedLease>& leases, double now) {
  Demand out;
  for (const auto& lease : leases)
    if (lease.from_s <= now && now < lease.from_s + lease.for_s) {
      Want want{lease.name, static_cast<double>(lease.count), lease.servers};
      for (auto& server : want.servers) server.weight = 1;
      out.wants.push_back(std::move(want));
    }
  return out;
}

// Begins after which something ends before the next begin: only there can most run at once. The fullest by slices
// first.
std::vector<double> full_moments(const Fleet& fleet, const std::vector<TimedLease>& leases) {
  std::vector<std::pair<double, double>> changes;  // when, slices; ends before begins
  for (const auto& lease : leases) {
    double slices = kUnbounded;
    for (const auto& server : lease.servers)
      slices = std::min<double>(slices, fleet.kinds[at(server.kind)].board->profiles[at(server.profile)].memory_slices);
    slices *= static_cast<double>(lease.count);
    changes.emplace_back(lease.from_s, slices);
    changes.emplace_back(lease.from_s + lease.for_s, -slices);
  }
  std::ranges::sort(changes);
  std::vector<std::pair<double, double>> full;
  double now = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    now += changes[i].second;
    if (changes[i].second > 0 && (i + 1 == changes.size() || changes[i + 1].second < 0))
      full.emplace_back(-now, changes[i].first);
  }
  std::ranges::stable_sort(full, {}, &std::pair<double, double>::first);
  if (full.size() > kMostMoments) full.resize(kMostMoments);
  std::vector<double> out;
  for (const auto& [ignored, when] : full) out.push_back(when);
  return out;
}

struct Held {
  plan::SliceMask mask;
  LeasedSpan span;
};

struct Gpu {
  int kind = 0;
  std::vector<Held> held;
};

// One after the other onto the GPU and place where least is left over in time.
class Packing {
 public:
  Packing(const Fleet& fleet, const std::vector<TimedLease>& leases) : leases_(leases) {
    for (const auto& kind : fleet.kinds) kinds_.emplace_back(kind);
  }

  // False: it does not fit.
  bool add(int lease) {
    const auto& one = leases_[at(lease)];
    std::optional<Choice> best;
    for (const auto& server : one.servers) {
      for (std::size_t g = 0; g < gpus_.size(); ++g)
        if (gpus_[g].kind == server.kind) consider(server, static_cast<int>(g), one, best);
    }
    if (!best) open(one, best);
    if (!best) return false;
    if (best->gpu == static_cast<int>(gpus_.size())) {
      gpus_.push_back({best->kind, {}});
      --kinds_[at(best->kind)].left;
    }
    gpus_[at(best->gpu)].held.push_back({best->mask, {lease, best->placed, one.from_s, one.from_s + one.for_s}});
    return true;
  }

  double cost() const {
    double out = 0;
    for (const auto& gpu : gpus_) out += kinds_[at(gpu.kind)].price;
    return out;
  }
  std::vector<Gpu> gpus() && { return std::move(gpus_); }

 private:
  struct PerKind {
    explicit PerKind(const Kind& kind)
        : geometry(*kind.board), exclusive(geometry), price(kind.price), left(kind.count.value_or(kMostGpus)) {
      for (const auto& each : kind.state)
        if (each.pinned) {
          pinned |= geometry.units_of(each.placed.profile, each.placed.start);
          pinned_profiles.push_back(each.placed.profile);
        }
    }
    plan::Geometry geometry;
    Exclusive exclusive;
    plan::SliceMask pinned = 0;
    std::vector<int> pinned_profiles;
    double price;
    std::int64_t left;  // GPUs that hold no lease yet
  };
  struct Choice {
    double waste = 0;  // unit-seconds around it that nothing holds
    int kind = 0, gpu = 0;
    plan::SliceMask mask = 0;
    plan::Placed placed;
  };

  void consider(const Server& server, int g, const TimedLease& one, std::optional<Choice>& best) const {
    const double until = one.from_s + one.for_s;
    const auto& gpu = gpus_[at(g)];
    const auto& kind = kinds_[at(gpu.kind)];
    plan::SliceMask busy = kind.pinned;
    for (const int pinned : kind.pinned_profiles)
      if (kind.exclusive(server.profile, pinned)) return;
    for (const auto& held : gpu.held)
      if (held.span.from_s < until && one.from_s < held.span.until_s) {
        if (kind.exclusive(server.profile, held.span.placed.profile)) return;
        busy |= held.mask;
      }
    for (const auto& place : kind.geometry.profiles()[at(server.profile)].placements) {
      if ((place.mask & busy) != 0) continue;
      // Idle time next to it on its own units, and units beside it that it cuts off from larger places.
      double waste = 0;
      for (auto m = place.mask; m != 0; m &= m - 1) {
        const auto unit = m & (~m + 1);
        double before = 0;
        for (const auto& held : gpu.held)
          if ((held.mask & unit) != 0 && held.span.until_s <= one.from_s) before = std::max(before, held.span.until_s);
        waste += one.from_s - before;
      }
      for (const auto& profile : kind.geometry.profiles())
        for (const auto& other : profile.placements)
          if ((other.mask & busy) == 0 && (other.mask & place.mask) != 0)
            waste += one.for_s * std::popcount(other.mask) * 1e-3;
      if (!best || waste < best->waste - 1e-9)
        best = Choice{waste, gpu.kind, g, place.mask, {server.profile, place.start}};
    }
  }

  void open(const TimedLease& one, std::optional<Choice>& best) {
    double cheapest = kUnbounded;
    for (const auto& server : one.servers) {
      const auto& kind = kinds_[at(server.kind)];
      if (kind.left == 0 || kind.price >= cheapest) continue;
      std::optional<Choice> here;
      gpus_.push_back({server.kind, {}});
      consider(server, static_cast<int>(gpus_.size()) - 1, one, here);
      gpus_.pop_back();
      if (!here) continue;
      cheapest = kind.price;
      best = here;
    }
  }

  const std::vector<TimedLease>& leases_;
  std::vector<PerKind> kinds_;
  std::vector<Gpu> gpus_;
};

// The orders that are tried: by begin, by size then begin, by length.
std::vector<std::vector<int>> orders(const Fleet& fleet, const std::vector<TimedLease>& leases) {
  std::vector<int> all;
  for (std::size_t i = 0; i < leases.size(); ++i)
    all.insert(all.end(), static_cast<std::size_t>(leases[i].count), static_cast<int>(i));
  const auto size = [&](int i) {
    const auto& server = leases[at(i)].servers.front();
    const auto& profile = fleet.kinds[at(server.kind)].board->profiles[at(server.profile)];
    return std::pair(-profile.memory_slices, -profile.compute_slices);
  };
  std::vector<std::vector<int>> out(3, all);
  std::ranges::stable_sort(out[0], {}, [&](int i) { return std::tuple(size(i), leases[at(i)].from_s); });
  std::ranges::stable_sort(out[1], {}, [&](int i) { return std::tuple(leases[at(i)].from_s, size(i)); });
  std::ranges::stable_sort(out[2], {}, [&](int i) { return std::tuple(size(i), -leases[at(i)].for_s); });
  return out;
}

// When most ends and begins at once on a GPU, how long destroying and creating takes in turn.
double longest_cut(const Calendar& calendar, const std::vector<std::vector<ReconfigureTime>>& times) {
  double out = 0;
  for (const auto& gpu : calendar.gpus) {
    std::map<double, double> cuts;  // at each begin
    for (const auto& span : gpu.spans) {
      const auto same = [&](const LeasedSpan& other) {
        return other.placed == span.placed && other.until_s <= span.from_s;
      };
      const auto before = std::ranges::any_of(gpu.spans, same);
      const auto& time = times[at(gpu.kind)][at(span.placed.profile)];
      if (!before) cuts[span.from_s] += time.create_s + (span.from_s > 0 ? time.destroy_s : 0);
    }
    for (const auto& [ignored, seconds] : cuts) out = std::max(out, seconds);
  }
  return out;
}

Result<std::vector<Gpu>> packed(const Fleet& fleet, const std::vector<TimedLease>& leases, double bound) {
  std::optional<Packing> best;
  int refused = 0;
  for (const auto& order : orders(fleet, leases)) {
    Packing packing(fleet, leases);
    const auto failed = std::ranges::find_if(order, [&](int lease) { return !packing.add(lease); });
    if (failed != order.end()) {
      refused = *failed;
      continue;
    }
    if (!best || packing.cost() < best->cost()) best.emplace(std::move(packing));
    if (best->cost() <= bound + 1e-9) break;
  }
  if (!best) {
    const auto& lease = leases[at(refused)];
    return fail(ErrorCode::no_space,
                fmt::format("the leases do not fit without waiting: no place was found for {} at {}; add GPUs, or let "
                            "it begin later",
                            lease.name, seconds_word(lease.from_s)));
  }
  return std::move(*best).gpus();
}

}  // namespace

Result<Calendar> plan_leases(const Fleet& fleet, const std::vector<TimedLease>& leases,
                             const std::vector<std::vector<ReconfigureTime>>& times) {
  TRY_VOID(check(fleet, leases));
  Calendar out;
  out.used.resize(fleet.kinds.size());
  double pinned = 0;  // costs whether leases run or not
  for (const auto& kind : fleet.kinds)
    if (kind.count && std::ranges::any_of(kind.state, &Occupant::pinned))
      pinned += kind.price * static_cast<double>(*kind.count);
  for (const double when : full_moments(fleet, leases)) {
    const auto demand = demand_at(leases, when);
    std::int64_t running = 0;
    for (const auto& want : demand.wants) running += static_cast<std::int64_t>(want.amount);
    out.most_at_once = std::max(out.most_at_once, running);
    SolveOptions cost_alone;
    cost_alone.levels = 1;
    auto least = solve(fleet, demand, cost_alone);
    if (!least) {
      least.error().message = fmt::format("at {}: {}", seconds_word(when), least.error().message);
      return std::unexpected(std::move(least.error()));
    }
    const double bound = least->levels.front().bound - pinned;
    if (bound <= out.bound && out.bound > 0) continue;
    out.bound = std::max(0.0, bound);
    out.peak_s = when;
  }
  for (auto& gpu : TRY(packed(fleet, leases, out.bound))) {
    const auto& kind = fleet.kinds[at(gpu.kind)];
    ++out.used[at(gpu.kind)];
    if (!std::ranges::any_of(kind.state, &Occupant::pinned)) out.cost += kind.price;
    LeasedGpu one{gpu.kind, {}};
    for (auto& held : gpu.held) one.spans.push_back(held.span);
    std::ranges::stable_sort(one.spans, {},
                             [](const LeasedSpan& span) { return std::tuple(span.from_s, span.placed.start); });
    out.gpus.push_back(std::move(one));
  }
  out.bound = std::min(out.bound, out.cost);
  out.longest_cut_s = longest_cut(out, times);
  return out;
}

Result<void> validate(const Fleet& fleet, const std::vector<TimedLease>& leases, const Calendar& calendar) {
  std::vector<std::int64_t> served(leases.size()), gpus(fleet.kinds.size());
  const auto wrong = [](const std::string& what) { return fail(ErrorCode::internal, "the calendar " + what); };
  for (const auto& gpu : calendar.gpus) {
    const auto& kind = fleet.kinds[at(gpu.kind)];
    if (++gpus[at(gpu.kind)] > kind.count.value_or(kMostGpus)) return wrong("uses a GPU too many");
    const auto end = [&](const plan::Placed& placed) {
      return placed.start + kind.board->profiles[at(placed.profile)].placement_size;
    };
    const plan::Geometry geometry(*kind.board);
    for (std::size_t i = 0; i < gpu.spans.size(); ++i) {
      const auto& a = gpu.spans[i];
      const auto& lease = leases[at(a.lease)];
      ++served[at(a.lease)];
      if (a.from_s != lease.from_s || a.until_s != lease.from_s + lease.for_s)
        return wrong("has a lease at another time");
      const auto serves = [&](const Server& s) { return s.kind == gpu.kind && s.profile == a.placed.profile; };
      if (std::ranges::none_of(lease.servers, serves)) return wrong("gives a lease another size");
      const auto& starts = kind.board->profiles[at(a.placed.profile)].placements;
      if (std::ranges::find(starts, a.placed.start) == starts.end()) return wrong("has an instance where none can be");
      for (const auto& each : kind.state)
        if (each.pinned && a.placed.start < end(each.placed) && each.placed.start < end(a.placed))
          return wrong("puts a lease on what is pinned");
      for (std::size_t j = 0; j < i; ++j) {
        const auto& b = gpu.spans[j];
        if (a.placed.start < end(b.placed) && b.placed.start < end(a.placed) && a.from_s < b.until_s &&
            b.from_s < a.until_s)
          return wrong("has two leases on one unit at once");
      }
      std::vector<plan::Placed> at_once;
      for (const auto& each : kind.state)
        if (each.pinned) at_once.push_back(each.placed);
      for (const auto& b : gpu.spans)
        if (b.from_s <= a.from_s && a.from_s < b.until_s) at_once.push_back(b.placed);
      if (!valid(geometry, at_once)) return wrong("has instances at once that do not go together");
    }
  }
  for (std::size_t i = 0; i < leases.size(); ++i)
    if (served[i] != leases[i].count) return wrong("has " + std::to_string(served[i]) + " of lease " + leases[i].name);
  return {};
}

}  // namespace partita::fleet
