#include "lease/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "lease/search.h"

namespace partita::lease {

namespace {

using layout::Gpu;
using layout::GpuInstance;
using layout::Pin;

// Only what a search looks at.
Gpu lean(const Gpu& gpu) {
  Gpu out;
  out.index = gpu.index;
  out.uuid = gpu.uuid;
  out.pci_bus_id = gpu.pci_bus_id;
  out.board = gpu.board;
  out.mode = gpu.mode;
  out.fault = gpu.fault;
  out.processes = gpu.processes;
  for (const auto& live : gpu.instances) {
    GpuInstance instance;
    instance.profile = live.profile;
    instance.placement = live.placement;
    for (const auto& compute : live.compute)
      instance.compute.push_back({compute.id, compute.profile, compute.placement, "", std::nullopt});
    for (const auto& pin : live.pins) instance.pins.push_back({pin.reason, ""});
    out.instances.push_back(std::move(instance));
  }
  return out;
}

Time end_of(const Waiting& request, Time from) {
  return request.duration && from < kFar ? from + *request.duration : Time::max();
}

// Can these two never be on one GPU at once, wherever they are?
bool exclude(const plan::GeometryProfile& a, const plan::GeometryProfile& b) {
  return (a.me && b.me) || (a.me_all && !b.no_me) || (b.me_all && !a.no_me);
}

// Two with +me after each other are no more in the way than one: the second counts as one without.
int counted_as(const Gpu& gpu, const plan::Geometry& geometry, const auto& slot) {
  const auto& profiles = geometry.profiles();
  const auto& wanted = profiles[static_cast<std::size_t>(slot.profile)];
  const auto takes_it = [&](const GpuInstance& live) {
    return live.pinned() && profiles[static_cast<std::size_t>(live.profile)].me &&
           !(live.profile == slot.profile && live.placement.start == slot.start);
  };
  if (!wanted.me || std::ranges::none_of(gpu.instances, takes_it)) return slot.profile;
  const auto plain = std::ranges::find_if(profiles, [&](const plan::GeometryProfile& p) {
    return p.shape == wanted.shape && !p.me && !p.me_all && !p.no_me;
  });
  return plain == profiles.end() ? slot.profile : static_cast<int>(plain - profiles.begin());
}

}  // namespace

std::vector<Reserved> places_of(std::span<const Choice> choices) {
  std::vector<Reserved> places;
  for (const Choice& choice : choices)
    places.push_back({choice.gpu, choice.whole_gpu ? std::nullopt : std::optional(choice.start), choice.profile});
  return places;
}

Timeline::Timeline(const layout::NodeState& state, std::span<const Held> held, Time now, Geometries& geometries)
    : now_(now), geometries_(geometries) {
  for (const auto& gpu : state.gpus) base_.gpus.push_back(lean(gpu));
  for (const Held& one : held) {
    const auto g = gpu_at(one.gpu);
    if (g == base_.gpus.size()) continue;
    Slot slot{0, g, one.start, 0, one.alone, Time::min(), std::min(one.expires.value_or(kFar), kFar)};
    slot.to = std::max(slot.to, now + std::chrono::milliseconds(1));  // it is still there
    for (auto& live : base_.gpus[g].instances) {
      if (!one.start || live.placement.start != *one.start) continue;
      slot.profile = live.profile;
      std::erase_if(live.pins, [](const Pin& pin) { return pin.reason != Pin::Reason::foreign; });
    }
    if (!one.start) base_.gpus[g].processes.clear();
    slots_.push_back(slot);
  }
}

std::size_t Timeline::gpu_at(const std::string& uuid) const {
  return static_cast<std::size_t>(std::ranges::find(base_.gpus, uuid, &Gpu::uuid) - base_.gpus.begin());
}

// The instance of the slot is there and pinned; what was idle in its place is gone. In a longer interval one place has
// several holders after each other: of those the one that covers the other stands for both, unless they differ in media
// engines, which are counted.
void Timeline::occupy(Gpu& gpu, Slot slot) {
  if (!slot.start || !gpu.board) return;
  const auto& geometry = geometries_.of(gpu.board);
  const auto& profiles = geometry.profiles();
  // Idle ones must go with what is to come, or they would seem to serve as they are.
  std::erase_if(gpu.instances, [&](const GpuInstance& live) {
    return !live.pinned() && !(live.profile == slot.profile && live.placement.start == *slot.start) &&
           exclude(profiles[static_cast<std::size_t>(live.profile)], profiles[static_cast<std::size_t>(slot.profile)]);
  });
  slot.profile = counted_as(gpu, geometry, slot);
  const auto mask = geometry.units_of(slot.profile, *slot.start);
  const auto media = [&](int profile) {
    const auto& p = profiles[static_cast<std::size_t>(profile)];
    return std::tuple(p.me, p.me_all, p.no_me);
  };
  bool covered = false;
  for (auto& live : gpu.instances) {
    const bool same = live.profile == slot.profile && live.placement.start == *slot.start;
    if (same) live.pins.assign(1, {Pin::Reason::leased, ""});
    const auto other = geometry.units_of(live.profile, live.placement.start);
    covered = covered || same || (live.pinned() && (mask & ~other) == 0 && media(live.profile) == media(slot.profile));
  }
  std::erase_if(gpu.instances, [&](const GpuInstance& live) {
    const auto other = geometry.units_of(live.profile, live.placement.start);
    if ((other & mask) == 0) return false;
    return !live.pinned() || (!covered && (other & ~mask) == 0 && media(live.profile) == media(slot.profile));
  });
  if (covered) return;
  GpuInstance instance;
  instance.profile = slot.profile;
  instance.placement = {*slot.start, profiles[static_cast<std::size_t>(slot.profile)].size};
  instance.pins.push_back({Pin::Reason::leased, ""});
  gpu.instances.push_back(std::move(instance));
}

void Timeline::view(Time from, Time to, const std::vector<Owner>& ignored, bool live_only) {
  view_ = base_;
  constraints_.closed_gpus.clear();
  constraints_.occupied_gpus.clear();
  for (const Slot& slot : slots_) {
    if (slot.to <= from || slot.from >= to) continue;
    if (slot.owner != 0 && live_only) continue;
    if (slot.owner != 0 && std::ranges::find(ignored, slot.owner) != ignored.end()) continue;
    Gpu& gpu = view_.gpus[slot.gpu];
    occupy(gpu, slot);
    constraints_.occupied_gpus.push_back(gpu.uuid);
    if (slot.alone || !slot.start) constraints_.closed_gpus.push_back(gpu.uuid);
  }
}

std::optional<Choice> Timeline::choose_in_view(const Waiting& request, const Shapes& shapes, const Reserved* exactly) {
  if (!exactly) return search(view_, request.requirement, constraints_, shapes, geometries_).value_or(std::nullopt);
  api::Requirement wanted = request.requirement;
  wanted.start = exactly->start;
  Shapes there = shapes;
  const auto g = gpu_at(exactly->gpu);
  for (std::size_t other = 0; other < there.eligible.size(); ++other)
    there.eligible[other] = shapes.eligible[other] && other == g;
  std::erase_if(there.tiers, [&](const Tier& tier) {
    return g >= tier.on_gpu.size() || !tier.on_gpu[g] || tier.on_gpu[g]->profile != exactly->profile;
  });
  return search(view_, wanted, constraints_, there, geometries_).value_or(std::nullopt);
}

std::vector<Choice> Timeline::room(const Waiting& request, const Shapes& shapes, Time from,
                                   const std::vector<Owner>& ignored, const std::vector<Reserved>* exactly) {
  const Time to = end_of(request, from);
  view(from, to, ignored);
  std::vector<Choice> choices;
  for (int i = 0; i < request.count; ++i) {
    auto choice = choose_in_view(request, shapes, exactly ? &(*exactly)[static_cast<std::size_t>(i)] : nullptr);
    if (!choice) return {};
    choices.push_back(std::move(*choice));
    if (i + 1 == request.count) break;
    const Reserved place = places_of({&choices.back(), 1}).front();
    Gpu& gpu = view_.gpus[gpu_at(place.gpu)];
    std::erase_if(gpu.instances, [&](const GpuInstance& live) {
      const plan::Placed at{live.profile, live.placement.start};
      return !place.start ? false
                          : std::ranges::find(choices.back().plan.result, at) == choices.back().plan.result.end();
    });
    occupy(gpu, {0, gpu_at(place.gpu), place.start, place.profile, false, from, to});
    constraints_.occupied_gpus.push_back(place.gpu);
    if (!place.start || request.requirement.exclusive_gpu) constraints_.closed_gpus.push_back(place.gpu);
  }
  return choices;
}

void Timeline::keep(Owner owner, const Waiting& request, Time from, std::span<const Reserved> places) {
  for (const Reserved& place : places)
    if (const auto g = gpu_at(place.gpu); g < base_.gpus.size())
      slots_.push_back(
          {owner, g, place.start, place.profile, request.requirement.exclusive_gpu, from, end_of(request, from)});
}

void Timeline::drop(Owner owner) {
  std::erase_if(slots_, [&](const Slot& slot) { return slot.owner == owner; });
}

std::vector<Choice> Timeline::start(const Waiting& request, const Shapes& shapes, std::span<const Reserved> places) {
  std::vector<Choice> choices;
  for (const Reserved& place : places) {
    view(now_, now_ + std::chrono::milliseconds(1), {}, true);
    auto choice = choose_in_view(request, shapes, &place);
    if (!choice) return {};
    const auto g = gpu_at(place.gpu);
    Gpu& gpu = base_.gpus[g];
    slots_.push_back(
        {0, g, place.start, place.profile, request.requirement.exclusive_gpu, now_, end_of(request, now_)});
    if (place.start && gpu.board)
      if (auto after = plan::replay(gpu, geometries_.of(gpu.board), choice->plan.steps))
        gpu.instances = std::move(*after);
    choices.push_back(std::move(*choice));
  }
  return choices;
}

std::vector<Time> Timeline::ends(Time last) const {
  std::vector<Time> times;
  for (const Slot& slot : slots_)
    if (slot.to > now_ && slot.to <= last) times.push_back(slot.to);
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  return times;
}

bool Timeline::anything_later() const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.from > now_; });
}

}  // namespace partita::lease
