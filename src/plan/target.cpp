#include "plan/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "plan/compute_fit.h"

namespace partita::plan {

namespace {

using layout::GpuInstance;
using layout::WantedInstance;

std::string wanted_name(const catalog::Board& board, const WantedInstance& wanted) {
  const auto& profile = board.profiles[static_cast<std::size_t>(wanted.profile)];
  return wanted.start ? layout::name_at(board, wanted.profile, *wanted.start) : profile.name;
}

std::string compute_names(const catalog::Profile& profile, std::span<const int> compute) {
  std::vector<std::string> names;
  for (const int index : compute) {
    const bool known = index >= 0 && index < static_cast<int>(profile.compute.size());
    names.push_back(known ? profile.compute[static_cast<std::size_t>(index)].name : fmt::format("number {}", index));
  }
  return names.empty() ? "none" : join(names, ", ");
}

Result<void> check_start(const layout::Gpu& gpu, const Geometry& geometry, const WantedInstance& wanted) {
  if (!wanted.start || geometry.legal(wanted.profile, *wanted.start)) return {};
  const auto& profile = gpu.board->profiles[static_cast<std::size_t>(wanted.profile)];
  return fail(ErrorCode::invalid,
              fmt::format("{}: {} cannot start at {}; on {} it starts at {}", gpu_name(gpu), profile.name,
                          *wanted.start, gpu.board->id, fmt::join(profile.placements, ", ")));
}

Result<void> check_compute(const layout::Gpu& gpu, const WantedInstance& wanted) {
  const auto& profile = gpu.board->profiles[static_cast<std::size_t>(wanted.profile)];
  if (change_compute(profile, {}, wanted)) return {};
  return fail(ErrorCode::impossible,
              fmt::format("{}: one {} cannot hold the compute instances {}; it has {} compute slices", gpu_name(gpu),
                          profile.name, compute_names(profile, wanted.compute), profile.compute_slices));
}

// Does the live instance, untouched, serve this wanted one?
bool serves_as_is(const catalog::Board& board, const GpuInstance& live, const WantedInstance& wanted) {
  if (wanted.profile != live.profile || (wanted.start && *wanted.start != live.placement.start)) return false;
  const auto change =
      change_compute(board.profiles[static_cast<std::size_t>(live.profile)], compute_placed(live.compute), wanted);
  return change && change->none();
}

// Splits pinned and wanted: which pinned ones the target has no room for by kind, and what is wanted besides them.
// The most particular wishes are served first, which makes taking the first match exact.
struct Matched {
  std::vector<const GpuInstance*> unmatched_pinned;
  std::vector<WantedInstance> rest;
};
Matched match_pinned(const layout::Gpu& gpu, std::span<const WantedInstance> wanted) {
  Matched matched;
  for (const int particular : {3, 2, 1, 0})
    for (const auto& w : wanted)
      if ((w.start ? 2 : 0) + (w.compute_starts ? 1 : 0) == particular) matched.rest.push_back(w);
  for (const auto& live : gpu.instances) {
    if (!live.pinned()) continue;
    const auto found =
        std::ranges::find_if(matched.rest, [&](const WantedInstance& w) { return serves_as_is(*gpu.board, live, w); });
    if (found == matched.rest.end()) {
      matched.unmatched_pinned.push_back(&live);
    } else {
      matched.rest.erase(found);
    }
  }
  return matched;
}

// How the target can come to pass although these are there.
std::string way_out(const Matched& matched) {
  const auto any = [&](bool foreign) {
    return std::ranges::any_of(matched.unmatched_pinned, [&](const GpuInstance* live) {
      return std::ranges::any_of(
          live->pins, [&](const layout::Pin& pin) { return (pin.reason == layout::Pin::Reason::foreign) == foreign; });
    });
  };
  const bool one = matched.unmatched_pinned.size() == 1;
  std::string out = fmt::format("add {} to the target, or ", one ? "it" : "them");
  if (any(false)) out += one ? "wait until its holder is done" : "wait until their holders are done";
  if (any(false) && any(true)) out += " and ";
  if (any(true)) out += "take over what Partita did not make with --adopt";
  return out;
}

Error pinned_missing(const layout::Gpu& gpu, const Matched& matched) {
  std::vector<std::string> details;  // only what the message does not say
  std::vector<std::string> names;
  for (const auto* live : matched.unmatched_pinned) {
    const auto name = layout::name_at(*gpu.board, live->profile, live->placement.start);
    const auto& profile = gpu.board->profiles[static_cast<std::size_t>(live->profile)];
    std::vector<int> compute;
    for (const auto& ci : live->compute) compute.push_back(ci.profile);
    names.push_back(fmt::format("{} ({})", name, holders(*live)));
    if (std::ranges::count(matched.rest, live->profile, &WantedInstance::profile) > 0)
      details.push_back(fmt::format("{}: the target wants its compute instances changed from {}", name,
                                    compute_names(profile, compute)));
  }
  return Error{ErrorCode::busy,
               fmt::format("{}: the target would touch {}; {}", gpu_name(gpu), join(names, ", "), way_out(matched)),
               std::move(details)};
}

// The counts fit, so it is the fixed starts that do not.
Error fixed_starts_blocked(const layout::Gpu& gpu, const Geometry& geometry, std::span<const WantedInstance> rest,
                           bool ignore_pins) {
  std::vector<std::string> details;
  for (const auto& wanted : rest) {
    if (!wanted.start) continue;
    for (const auto& live : gpu.instances) {
      if (ignore_pins || !live.pinned() ||
          (geometry.units_of(live.profile, live.placement.start) & geometry.units_of(wanted.profile, *wanted.start)) ==
              0)
        continue;
      details.push_back(fmt::format("{} is blocked by {} ({})", wanted_name(*gpu.board, wanted),
                                    layout::name_at(*gpu.board, live.profile, live.placement.start), holders(live)));
    }
  }
  std::string what = details.empty() ? "the asked starts leave no place for the rest" : "the asked starts are taken";
  if (details.size() == 1) what += ": " + std::exchange(details, {}).front();
  return Error{ErrorCode::no_space,
               fmt::format("{}: the target does not fit: {}; without fixed starts it fits", gpu_name(gpu), what),
               std::move(details)};
}

std::vector<int> counts_of(const Geometry& geometry, std::span<const WantedInstance> wanted) {
  std::vector<int> counts(geometry.profiles().size());
  for (const auto& instance : wanted) ++counts[static_cast<std::size_t>(instance.profile)];
  return counts;
}

}  // namespace

bool alike(const WantedInstance& a, const WantedInstance& b) {
  return a.profile == b.profile && a.start == b.start && a.compute == b.compute && a.compute_starts == b.compute_starts;
}

bool same_for_planning(const catalog::Board& a, const catalog::Board& b) {
  if (&a == &b) return true;
  const auto same_compute = [](const catalog::ComputeProfile& x, const catalog::ComputeProfile& y) {
    return x.placement_size == y.placement_size && x.placements == y.placements && x.max_instances == y.max_instances;
  };
  const auto same_profile = [&](const catalog::Profile& x, const catalog::Profile& y) {
    return x.placement_size == y.placement_size && x.placements == y.placements && x.max_instances == y.max_instances &&
           x.attributes == y.attributes && std::ranges::equal(x.compute, y.compute, same_compute);
  };
  return a.id == b.id && a.placement_units == b.placement_units &&
         std::ranges::equal(a.profiles, b.profiles, same_profile);
}

std::string holders(const GpuInstance& instance) {
  std::vector<std::string> names;
  for (const auto& pin : instance.pins) names.push_back(pin.holder);
  return names.empty() ? "idle" : join(names, ", ");
}

Pinned to_pinned(const GpuInstance& instance) {
  return {
      {instance.profile, instance.placement.start},
      holders(instance),
      std::ranges::all_of(instance.pins, [](const auto& pin) { return pin.reason == layout::Pin::Reason::leased; })};
}

std::string gpu_name(const layout::Gpu& gpu) { return fmt::format("GPU {}", gpu.index); }

Result<void> check_target(const layout::Gpu& gpu, const Geometry& geometry, std::span<const WantedInstance> wanted) {
  if (!gpu.board || !gpu.board->has_mig())
    return fail(ErrorCode::invalid, fmt::format("{}: {} has no MIG; nothing can be planned on it", gpu_name(gpu),
                                                gpu.product.empty() ? "this GPU" : gpu.product));
  const auto known = [&](int profile) {
    return profile >= 0 && profile < static_cast<int>(geometry.profiles().size());
  };
  SliceMask taken = 0;
  for (const auto& instance : wanted) {
    if (!known(instance.profile))
      return fail(ErrorCode::invalid, fmt::format("{}: profile number {} is wanted; {} has 0 to {}", gpu_name(gpu),
                                                  instance.profile, gpu.board->id, geometry.profiles().size() - 1));
    TRY_VOID(check_start(gpu, geometry, instance));
    TRY_VOID(check_compute(gpu, instance));
    if (!instance.start) continue;
    const auto units = geometry.units_of(instance.profile, *instance.start);
    if ((taken & units) != 0)
      return fail(ErrorCode::invalid, fmt::format("{}: {} overlaps another instance of the target", gpu_name(gpu),
                                                  wanted_name(*gpu.board, instance)));
    taken |= units;
  }
  const bool sound =
      gpu.instances.size() <= 2 * kMaxGpuInstances && std::ranges::all_of(gpu.instances, known, &GpuInstance::profile);
  if (!sound)
    return fail(ErrorCode::internal,
                fmt::format("{}: the live instances do not match board {}", gpu_name(gpu), gpu.board->id));
  return {};
}

Error why_not(const layout::Gpu& gpu, const Geometry& geometry, std::span<const WantedInstance> wanted,
              bool ignore_pins) {
  const auto& board = *gpu.board;
  const auto all = counts_of(geometry, wanted);
  if (!fits(geometry, {}, all)) return in_context(gpu_name(gpu), explain_no_fit(board, geometry, {}, all));
  if (ignore_pins) return fixed_starts_blocked(gpu, geometry, wanted, ignore_pins);
  const auto matched = match_pinned(gpu, wanted);
  if (!matched.unmatched_pinned.empty()) return pinned_missing(gpu, matched);
  std::vector<Pinned> pinned;
  std::vector<Placed> places;
  for (const auto& live : gpu.instances) {
    if (!live.pinned()) continue;
    pinned.push_back(to_pinned(live));
    places.push_back(pinned.back().placed);
  }
  const auto counts = counts_of(geometry, matched.rest);
  if (fits(geometry, places, counts)) return fixed_starts_blocked(gpu, geometry, matched.rest, ignore_pins);
  return in_context(gpu_name(gpu), explain_no_fit(board, geometry, pinned, counts));
}

}  // namespace partita::plan
