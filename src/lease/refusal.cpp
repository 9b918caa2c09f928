// Each way to make room is a list of obstacles on one GPU. What disturbs nobody comes first, then the fewest that are
// not leases, then the fewest, then those that end soonest.
#include "lease/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

#include "base/duration.h"
#include "base/text.h"
#include "lease/search.h"
#include "plan/fit.h"

namespace partita::lease {

namespace {

using layout::Gpu;
using layout::GpuInstance;
using layout::Pin;
using plan::Geometry;
using plan::Placed;

// One thing that would have to change.
struct Obstacle {
  std::string action;  // "releasing lease alice (3g.20gb@4 of GPU 0, until ...)"
  int disturbs = 0;    // 0: nobody, 1: a lease, 2: work or another manager
  Time until = Time::max();
  bool is_mode = false;  // MIG mode, which is turned on by a layout and not by a lease
};
using Way = std::vector<Obstacle>;

// What keeps a lease from these GPUs.
struct Hindrance {
  std::string line;
  std::vector<int> gpus;
};

void add(std::vector<Hindrance>& hindrances, std::string line, int gpu) {
  const auto same = std::ranges::find(hindrances, line, &Hindrance::line);
  if (same != hindrances.end())
    same->gpus.push_back(gpu);
  else
    hindrances.push_back({std::move(line), {gpu}});
}

class Explainer {
 public:
  Explainer(const layout::NodeState& state, const api::Requirement& requirement, const Constraints& constraints,
            const Shapes& shapes, Geometries& geometries)
      : state_(state), requirement_(requirement), constraints_(constraints), shapes_(shapes), geometries_(geometries) {}

  Error explain() {
    std::vector<Hindrance> hindrances;
    for (std::size_t g = 0; g < state_.gpus.size(); ++g) {
      if (!shapes_.eligible[g]) continue;
      if (auto line = hindrance(g); !line.empty()) add(hindrances, std::move(line), state_.gpus[g].index);
      look_for_ways(g);
    }
    std::vector<std::string> details;
    for (const auto& [line, gpus] : hindrances) details.push_back(fmt::format("{}: {}", layout::gpu_names(gpus), line));
    std::string message = fmt::format("{} does not fit on this node now", to_string(requirement_));
    if (best_) {
      std::vector<std::string> actions;
      for (const auto& obstacle : *best_) actions.push_back(obstacle.action);
      message += fmt::format("; {} makes it fit", join(actions, " and "));
      if (std::ranges::any_of(*best_, &Obstacle::is_mode))
        details.emplace_back(
            "an administrator turns it on with a layout that has mig-enabled: true: partita apply -f FILE (partita "
            "generate-config writes one to start from)");
    }
    return Error{ErrorCode::no_space, std::move(message), std::move(details)};
  }

 private:
  const Occupant* occupant(const Gpu& gpu, std::optional<int> start) const {
    const auto found = std::ranges::find_if(constraints_.occupants, [&](const Occupant& o) {
      return o.gpu == gpu.uuid && (!start || !o.start || *o.start == *start);
    });
    return found == constraints_.occupants.end() ? nullptr : &*found;
  }

  static std::string until(const Occupant* occupant) {
    if (!occupant) return "";
    return occupant->expires ? ", until " + partita::to_string(*occupant->expires) : ", until it is released";
  }

  static bool leased(const GpuInstance& live) {
    return std::ranges::any_of(live.pins, [](const Pin& pin) { return pin.reason == Pin::Reason::leased; });
  }

  std::string holders(const Gpu& gpu, const GpuInstance& live) const {
    std::vector<std::string> names;
    for (const auto& pin : live.pins) names.push_back(pin.holder);
    return join(names, ", ") + (leased(live) ? until(occupant(gpu, live.placement.start)) : "");
  }

  std::string name(const Gpu& gpu, const GpuInstance& live) const {
    return layout::name_at(*gpu.board, live.profile, live.placement.start);
  }

  // What keeps the lease from this GPU, for the details.
  std::string hindrance(std::size_t g) const {
    const Gpu& gpu = state_.gpus[g];
    if (gpu.fault) return *gpu.fault;
    if (std::ranges::count(constraints_.closed_gpus, gpu.uuid) != 0) {
      const auto* who = occupant(gpu, std::nullopt);
      return who ? fmt::format("lease {} has it for itself{}", who->lease, until(who))
                 : "another lease has it for itself";
    }
    if (requirement_.whole_gpu) return whole_hindrance(gpu);
    if (!gpu.board || !gpu.board->has_mig() || !gpu.mode) return "no MIG on this board";
    if (!gpu.mode->current) return "MIG mode is off";
    if (!gpu.mode->pending) return "MIG mode is about to be turned off";
    if (!serving(g)) return "this board has no such profile";
    std::vector<std::string> names;
    for (const auto& live : gpu.instances)
      if (live.pinned()) names.push_back(fmt::format("{} ({})", name(gpu, live), holders(gpu, live)));
    if (!names.empty()) return "in the way " + join(names, ", ");
    return requirement_.exclusive_gpu && occupied(gpu) ? who_is_there(gpu) : "";
  }

  bool occupied(const Gpu& gpu) const { return std::ranges::count(constraints_.occupied_gpus, gpu.uuid) != 0; }

  std::string who_is_there(const Gpu& gpu) const {
    const auto* who = occupant(gpu, std::nullopt);
    return who ? fmt::format("lease {} is there{}", who->lease, until(who)) : "another lease is there";
  }

  std::string whole_hindrance(const Gpu& gpu) const {
    if (gpu.mode && gpu.mode->current) return "MIG mode is on";
    if (gpu.mode && gpu.mode->pending) return "MIG mode is about to be turned on";
    std::vector<std::string> names;
    for (const auto& process : gpu.processes) names.push_back(process_name(process));
    if (!names.empty()) return "in the way " + join(names, ", ");
    return who_is_there(gpu);
  }

  static std::string process_name(const layout::Process& process) {
    return process.name.empty() ? fmt::format("pid {}", process.pid)
                                : fmt::format("pid {} ({})", process.pid, process.name);
  }

  bool serving(std::size_t g) const {
    return std::ranges::any_of(shapes_.tiers, [&](const Tier& tier) { return tier.on_gpu[g].has_value(); });
  }

  void look_for_ways(std::size_t g) {
    const Gpu& gpu = state_.gpus[g];
    if (gpu.fault) return;
    Way first;  // what must go whatever the place
    if (std::ranges::count(constraints_.closed_gpus, gpu.uuid) != 0) {
      const auto* who = occupant(gpu, std::nullopt);
      if (!who) return;
      first.push_back({fmt::format("releasing lease {} (GPU {} for itself{})", who->lease, gpu.index, until(who)), 1,
                       who->expires.value_or(Time::max())});
    }
    if (requirement_.whole_gpu) return whole_way(gpu, std::move(first));
    if (!serving(g) || !gpu.mode) return;
    if (!gpu.mode->current || !gpu.mode->pending) {
      for (const auto& process : gpu.processes) first.push_back({"ending " + process_name(process), 2, Time::max()});
      first.push_back({fmt::format("turning on MIG mode of GPU {}", gpu.index), 0, Time::max(), true});
      return offer(std::move(first));
    }
    if (requirement_.exclusive_gpu && occupied(gpu) && std::ranges::none_of(gpu.instances, &GpuInstance::pinned)) {
      const auto* who = occupant(gpu, std::nullopt);
      if (!who) return;
      first.push_back({fmt::format("releasing lease {} (GPU {}{})", who->lease, gpu.index, until(who)), 1,
                       who->expires.value_or(Time::max())});
    }
    for (const auto& tier : shapes_.tiers)
      if (const Shape* shape = tier.on(g)) ways_of(gpu, shape->profile, first);
  }

  void whole_way(const Gpu& gpu, Way way) {
    for (const auto& live : gpu.instances)
      if (live.pinned()) way.push_back(obstacle(gpu, live));
    if (gpu.instances.empty())
      for (const auto& process : gpu.processes) way.push_back({"ending " + process_name(process), 2, Time::max()});
    if (gpu.mode && (gpu.mode->current || gpu.mode->pending))
      way.push_back({fmt::format("turning off MIG mode of GPU {}", gpu.index), 0, Time::max()});
    if (!way.empty()) offer(std::move(way));
  }

  Obstacle obstacle(const Gpu& gpu, const GpuInstance& live) const {
    const auto where = fmt::format("{} of GPU {}", name(gpu, live), gpu.index);
    const auto is = [&](Pin::Reason reason) {
      return std::ranges::find(live.pins, reason, &Pin::reason) != live.pins.end();
    };
    if (is(Pin::Reason::leased)) {
      const auto* who = occupant(gpu, live.placement.start);
      const auto pin = std::ranges::find(live.pins, Pin::Reason::leased, &Pin::reason);
      return {fmt::format("releasing {} ({}{})", pin->holder, where, until(who)), 1,
              who ? who->expires.value_or(Time::max()) : Time::max()};
    }
    if (is(Pin::Reason::busy)) {
      const auto pin = std::ranges::find(live.pins, Pin::Reason::busy, &Pin::reason);
      return {fmt::format("ending {} ({})", pin->holder, where), 2, Time::max()};
    }
    return {fmt::format("taking over {} ({}) with apply --adopt", where, holders(gpu, live)), 2, Time::max()};
  }

  // At each place: those it overlaps, and the fewest more that rules of counts demand.
  void ways_of(const Gpu& gpu, int profile, const Way& first) {
    const Geometry& geometry = geometries_.of(gpu.board);
    std::vector<const GpuInstance*> pinned;
    for (const auto& live : gpu.instances)
      if (live.pinned()) pinned.push_back(&live);
    if (pinned.size() > plan::kMaxGpuInstances) return;
    std::vector<int> one(geometry.profiles().size());
    one[static_cast<std::size_t>(profile)] = 1;
    for (const auto& place : geometry.profiles()[static_cast<std::size_t>(profile)].placements) {
      if (requirement_.start && *requirement_.start != place.start) continue;
      for (std::uint32_t set = 0; set < (1U << pinned.size()); ++set) {
        if (requirement_.exclusive_gpu && set + 1 != (1U << pinned.size())) continue;
        std::vector<Placed> kept;
        bool overlaps = false;
        for (std::size_t i = 0; i < pinned.size(); ++i) {
          if (((set >> i) & 1U) != 0) continue;
          kept.push_back({pinned[i]->profile, pinned[i]->placement.start});
          overlaps = overlaps || (geometry.units_of(kept.back().profile, kept.back().start) & place.mask) != 0;
        }
        if (overlaps || !plan::fits(geometry, kept, one)) continue;
        Way way = first;
        for (std::size_t i = 0; i < pinned.size(); ++i)
          if (((set >> i) & 1U) != 0) way.push_back(obstacle(gpu, *pinned[i]));
        if (!way.empty()) offer(std::move(way));
      }
    }
  }

  void offer(Way way) {
    const auto cost = [](const Way& w) {
      const auto disturbing = [&](int level) {
        return std::ranges::count_if(w, [&](const Obstacle& o) { return o.disturbs >= level; });
      };
      Time last = Time::min();
      for (const auto& obstacle : w)
        if (obstacle.disturbs > 0) last = std::max(last, obstacle.until);
      return std::tuple(disturbing(2), disturbing(1), w.size(), last);
    };
    if (!best_ || cost(way) < cost(*best_)) best_ = std::move(way);
  }

  const layout::NodeState& state_;
  const api::Requirement& requirement_;
  const Constraints& constraints_;
  const Shapes& shapes_;
  Geometries& geometries_;
  std::optional<Way> best_;
};

}  // namespace

Error explain_no_place(const layout::NodeState& state, const api::Requirement& requirement,
                       const Constraints& constraints, const Shapes& shapes, Geometries& geometries) {
  return Explainer(state, requirement, constraints, shapes, geometries).explain();
}

}  // namespace partita::lease
