// Two passes over the GPUs: idle instances that serve as they are, which needs no geometry; then, unless one is on a
// GPU in use, every place where the shape could be cut. Only the places that destroy the fewest instances are weighed:
// GPUs on which something is pinned before those that could still be had whole, then by what stays open, with equal
// GPUs weighed once.
#include "lease/search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>

#include "plan/fit.h"

namespace partita::lease {

namespace {

using layout::Gpu;
using layout::GpuInstance;
using plan::Geometry;
using plan::Placed;

bool lists(const std::vector<std::string>& gpus, const std::string& uuid) {
  return std::ranges::find(gpus, uuid) != gpus.end();
}

bool serves(const GpuInstance& live, const Shape& shape) {
  if (live.profile != shape.profile || live.compute.size() != shape.compute.size()) return false;
  std::array<int, 16> have{};
  if (live.compute.size() > have.size()) return false;
  std::ranges::transform(live.compute, have.begin(), &layout::ComputeInstance::profile);
  std::sort(have.begin(), have.begin() + static_cast<std::ptrdiff_t>(live.compute.size()));
  return std::equal(shape.compute.begin(), shape.compute.end(), have.begin());
}

int units(const Gpu& gpu, bool pinned_only, int from = 0, int to = INT32_MAX) {
  int sum = 0;
  for (const auto& live : gpu.instances)
    if (!pinned_only || live.pinned())
      sum +=
          std::max(0, std::min(live.placement.start + live.placement.size, to) - std::max(live.placement.start, from));
  return sum;
}

// Pinned units in the aligned part of the GPU that this place is in: one half, one quarter.
int pinned_around(const Gpu& gpu, int start, int parts) {
  const int size = std::max(1, gpu.board->placement_units / parts);
  return units(gpu, true, start / size * size, start / size * size + size);
}

class Searcher {
 public:
  Searcher(const layout::NodeState& state, const api::Requirement& requirement, const Constraints& constraints,
           const Shapes& shapes, Geometries& geometries)
      : state_(state),
        requirement_(requirement),
        geometries_(geometries),
        shapes_(shapes),
        cuts_last_(constraints.cuts_last) {
    for (std::size_t g = 0; g < state.gpus.size(); ++g)
      usable_.push_back(shapes.eligible[g] && usable(state.gpus[g], requirement, constraints));
  }

  Result<std::optional<Choice>> run() {
    if (requirement_.whole_gpu) return whole_gpu();
    for (const Tier& tier : shapes_.tiers) {
      auto waiting = idle(tier);
      if (waiting && (cuts_last_ || in_use(waiting->gpu))) return waiting;
      const auto cut = best_cut(tier);
      if (waiting && !(cut && loses_nothing(*cut) && in_use(state_.gpus[cut->gpu].uuid))) return waiting;
      if (cut) return TRY(written(*cut));
    }
    return std::optional<Choice>();
  }

 private:
  // GPUs that have no MIG first: others could be cut.
  std::optional<Choice> whole_gpu() const {
    const Gpu* best = nullptr;
    for (std::size_t g = 0; g < state_.gpus.size(); ++g)
      if (usable_[g] && (!best || (best->mode && !state_.gpus[g].mode))) best = &state_.gpus[g];
    if (!best) return std::nullopt;
    Choice choice;
    choice.gpu = choice.plan.gpu = best->uuid;
    choice.whole_gpu = true;
    return choice;
  }

  std::optional<Choice> idle(const Tier& tier) const {
    using Rank = std::tuple<int, int, int, int, int>;
    std::optional<Rank> best;
    std::size_t gpu = 0;
    const GpuInstance* instance = nullptr;
    const Shape* wanted = nullptr;
    for (std::size_t g = 0; g < state_.gpus.size(); ++g) {
      const Shape* shape = tier.on(g);
      if (!usable_[g] || !shape) continue;
      const Gpu& here = state_.gpus[g];
      const int pinned = units(here, true);
      const int all = units(here, false);
      for (const auto& live : here.instances) {
        const int start = live.placement.start;
        if (live.pinned() || !serves(live, *shape)) continue;
        if (requirement_.start && *requirement_.start != start) continue;
        const Rank rank{pinned, all, pinned_around(here, start, 2), pinned_around(here, start, 4), start};
        // Of equal GPUs the first.
        if (best && (rank < *best ||
                     (gpu != g && std::tuple(pinned, all) == std::tuple(std::get<0>(*best), std::get<1>(*best)))))
          continue;
        best = rank;
        gpu = g;
        instance = &live;
        wanted = shape;
      }
    }
    if (!instance || !wanted) return std::nullopt;
    Choice choice = chosen(gpu, *wanted, instance->placement.start);
    for (const auto& live : state_.gpus[gpu].instances)
      choice.plan.result.push_back({live.profile, live.placement.start});
    std::ranges::sort(choice.plan.result, {}, &Placed::start);
    choice.plan.kept = choice.plan.result;
    return choice;
  }

  Choice chosen(std::size_t gpu, const Shape& shape, int start) const {
    const Gpu& here = state_.gpus[gpu];
    Choice choice;
    choice.gpu = choice.plan.gpu = here.uuid;
    choice.profile = shape.profile;
    choice.start = start;
    choice.compute = shape.compute;
    if (shape.spelled_here)
      choice.warnings.push_back(requirement_.profile + " is called " + *shape.spelled_here + " on this " +
                                here.product);
    return choice;
  }

  struct Cut {
    std::size_t gpu = 0;
    const Shape* shape = nullptr;
    int start = 0;
    std::vector<std::size_t> gone;  // idle instances, by position
    int compute_gone = 0;
  };

  bool in_use(const std::string& gpu) const {
    return std::ranges::any_of(state_.gpus, [&](const Gpu& one) { return one.uuid == gpu && units(one, true) > 0; });
  }
  static bool loses_nothing(const Cut& cut) { return cut.gone.empty() && cut.compute_gone == 0; }

  std::optional<Cut> best_cut(const Tier& tier) {
    auto cuts = cheapest_cuts(tier);
    if (cuts.empty()) return std::nullopt;
    Cut* best = &cuts.front();
    if (cuts.size() > 1) {
      using Rank = std::tuple<bool, std::int64_t, int, int, int, int>;
      std::optional<Rank> best_rank;
      for (auto& cut : cuts) {
        const Gpu& gpu = state_.gpus[cut.gpu];
        const int pinned = units(gpu, true);
        const Rank rank{pinned == 0, lost_by(cut),       closed_by(cut),
                        -pinned,     -units(gpu, false), static_cast<int>(cut.gpu)};
        // Of equal places the highest start, as plan::fit does.
        if (best_rank && rank > *best_rank) continue;
        best_rank = rank;
        best = &cut;
      }
    }
    return std::move(*best);
  }

  // Places that destroy the fewest GPU instances, then the fewest compute instances; starts ascend within a GPU.
  std::vector<Cut> cheapest_cuts(const Tier& tier) {
    std::vector<Cut> cuts;
    const auto cost = [](const Cut& cut) { return std::pair(cut.gone.size(), cut.compute_gone); };
    for (std::size_t g = 0; g < state_.gpus.size(); ++g) {
      const Shape* shape = tier.on(g);
      if (!usable_[g] || !shape) continue;
      const Gpu& gpu = state_.gpus[g];
      const Geometry& geometry = geometries_.of(gpu.board);
      for (const auto& place : geometry.profiles()[static_cast<std::size_t>(shape->profile)].placements) {
        if (requirement_.start && *requirement_.start != place.start) continue;
        auto gone = in_the_way(gpu, geometry, {shape->profile, place.start});
        if (!gone) continue;
        Cut cut{g, shape, place.start, std::move(*gone), 0};
        for (const auto i : cut.gone) cut.compute_gone += static_cast<int>(gpu.instances[i].compute.size());
        for (const auto& live : gpu.instances)
          if (live.profile == shape->profile && live.placement.start == place.start)
            cut.compute_gone += static_cast<int>(live.compute.size());
        if (!cuts.empty() && cost(cuts.front()) < cost(cut)) continue;
        if (!cuts.empty() && cost(cut) < cost(cuts.front())) cuts.clear();
        cuts.push_back(std::move(cut));
      }
    }
    return cuts;
  }

  // How much less the GPU is worth for requests to come (the online policy's potential), in millionths. What idles
  // counts as free: it may go when it is in the way.
  std::int64_t lost_by(const Cut& cut) {
    const Gpu& gpu = state_.gpus[cut.gpu];
    std::vector<Placed> held;
    for (const auto& live : gpu.instances)
      if (live.pinned()) held.push_back({live.profile, live.placement.start});
    const double before = worth(gpu, held);
    held.push_back({cut.shape->profile, cut.start});
    constexpr double kMillion = 1e6;
    return std::llround(kMillion * (before - worth(gpu, held)));
  }

  double worth(const Gpu& gpu, std::vector<Placed> held) {
    std::ranges::sort(held);
    auto [entry, is_new] = worth_.try_emplace({gpu.board.get(), std::move(held)}, 0);
    if (is_new) entry->second = geometries_.value_of(gpu.board, entry->first.second);
    return entry->second;
  }

  // How many placements of the node it closes.
  int closed_by(const Cut& cut) {
    const Gpu& gpu = state_.gpus[cut.gpu];
    std::vector<Placed> before, after;
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      const Placed at{gpu.instances[i].profile, gpu.instances[i].placement.start};
      before.push_back(at);
      if (std::ranges::find(cut.gone, i) == cut.gone.end()) after.push_back(at);
    }
    const Placed added{cut.shape->profile, cut.start};
    if (std::ranges::find(after, added) == after.end()) after.push_back(added);
    return open(gpu, std::move(before)) - open(gpu, std::move(after));
  }

  int open(const Gpu& gpu, std::vector<Placed> placed) {
    std::ranges::sort(placed);
    auto [entry, is_new] = open_.try_emplace({gpu.board.get(), std::move(placed)}, 0);
    if (is_new) entry->second = plan::open_placements(geometries_.of(gpu.board), entry->first.second);
    return entry->second;
  }

  // As steps: the transition of the GPU without all that stays as it is.
  Result<std::optional<Choice>> written(const Cut& cut) {
    const Shape& shape = *cut.shape;
    const Gpu& gpu = state_.gpus[cut.gpu];
    Choice choice = chosen(cut.gpu, shape, cut.start);
    Gpu part;
    part.index = gpu.index;
    part.uuid = gpu.uuid;
    part.board = gpu.board;
    part.mode = gpu.mode;
    std::vector<Placed> stay;
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      const auto& live = gpu.instances[i];
      const bool recut = live.profile == shape.profile && live.placement.start == cut.start;
      if (recut || std::ranges::find(cut.gone, i) != cut.gone.end())
        part.instances.push_back(live);
      else
        stay.push_back({live.profile, live.placement.start});
    }
    const layout::WantedInstance wanted{shape.profile, cut.start, shape.compute, std::nullopt};
    choice.plan = TRY(plan::transition(part, geometries_.of(gpu.board), {&wanted, 1}));
    choice.plan.result.insert(choice.plan.result.end(), stay.begin(), stay.end());
    choice.plan.kept.insert(choice.plan.kept.end(), stay.begin(), stay.end());
    std::ranges::sort(choice.plan.result, {}, &Placed::start);
    std::ranges::sort(choice.plan.kept, {}, &Placed::start);
    return choice;
  }

  const layout::NodeState& state_;
  const api::Requirement& requirement_;
  Geometries& geometries_;
  const Shapes& shapes_;
  bool cuts_last_;
  std::vector<bool> usable_;
  std::map<std::pair<const catalog::Board*, std::vector<Placed>>, int> open_;
  std::map<std::pair<const catalog::Board*, std::vector<Placed>>, double> worth_;
};

// The fewest of `may_go` without which one more of `profile` is allowed by the rules of counts.
std::optional<std::vector<std::size_t>> fewest_more(const Gpu& gpu, const Geometry& geometry, int profile,
                                                    const std::vector<std::size_t>& stay) {
  std::vector<int> one(geometry.profiles().size());
  one[static_cast<std::size_t>(profile)] = 1;
  std::vector<std::size_t> may_go;
  for (const auto i : stay)
    if (!gpu.instances[i].pinned()) may_go.push_back(i);
  if (may_go.size() > plan::kMaxGpuInstances) return std::nullopt;
  std::optional<std::uint32_t> best;
  for (std::uint32_t set = 0; set < (1U << may_go.size()); ++set) {
    if (best && std::popcount(set) >= std::popcount(*best)) continue;
    std::vector<Placed> kept;
    for (const auto i : stay) {
      const auto at = std::ranges::find(may_go, i);
      if (at == may_go.end() || ((set >> (at - may_go.begin())) & 1U) == 0)
        kept.push_back({gpu.instances[i].profile, gpu.instances[i].placement.start});
    }
    if (plan::fits(geometry, kept, one)) best = set;
  }
  if (!best) return std::nullopt;
  std::vector<std::size_t> gone;
  for (std::size_t i = 0; i < may_go.size(); ++i)
    if (((*best >> i) & 1U) != 0) gone.push_back(may_go[i]);
  return gone;
}

}  // namespace

bool usable(const Gpu& gpu, const api::Requirement& requirement, const Constraints& constraints) {
  if (gpu.fault || lists(constraints.closed_gpus, gpu.uuid)) return false;
  const bool occupied = lists(constraints.occupied_gpus, gpu.uuid);
  if (requirement.whole_gpu)
    return !occupied && gpu.processes.empty() && (!gpu.mode || (!gpu.mode->current && !gpu.mode->pending));
  if (requirement.exclusive_gpu && (occupied || std::ranges::any_of(gpu.instances, &GpuInstance::pinned))) return false;
  return gpu.board && gpu.board->has_mig() && gpu.mode && gpu.mode->current && gpu.mode->pending;
}

std::optional<std::vector<std::size_t>> in_the_way(const Gpu& gpu, const Geometry& geometry, const Placed& place) {
  const auto mask = geometry.units_of(place.profile, place.start);
  std::vector<std::size_t> gone, stay;
  std::vector<Placed> kept;
  for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
    const auto& live = gpu.instances[i];
    const Placed at{live.profile, live.placement.start};
    if ((geometry.units_of(at.profile, at.start) & mask) == 0) {
      stay.push_back(i);
      kept.push_back(at);
    } else if (live.pinned()) {
      return std::nullopt;
    } else if (at == place) {
      return std::vector<std::size_t>{};  // nothing else overlaps it, and the counts are as they were
    } else {
      gone.push_back(i);
    }
  }
  std::vector<int> one(geometry.profiles().size());
  one[static_cast<std::size_t>(place.profile)] = 1;
  if (plan::fits(geometry, kept, one)) return gone;
  const auto more = fewest_more(gpu, geometry, place.profile, stay);
  if (!more) return std::nullopt;
  gone.insert(gone.end(), more->begin(), more->end());
  return gone;
}

Result<std::optional<Choice>> search(const layout::NodeState& state, const api::Requirement& requirement,
                                     const Constraints& constraints, const Shapes& shapes, Geometries& geometries) {
  return Searcher(state, requirement, constraints, shapes, geometries).run();
}

}  // namespace partita::lease
