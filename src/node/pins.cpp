#include "node/pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace partita::node {
namespace {

int nvml_profile(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  return gpu.board->profiles[static_cast<std::size_t>(instance.profile)].nvml_profile;
}

bool matches(const OwnedInstance& mark, const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  return mark.gpu == gpu.uuid && mark.gpu_instance == instance.id && mark.start == instance.placement.start &&
         mark.profile == nvml_profile(gpu, instance);
}

bool is_owned(std::span<const OwnedInstance> owned, const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  return std::ranges::any_of(owned, [&](const OwnedInstance& mark) { return matches(mark, gpu, instance); });
}

bool says_foreign(const layout::Pin& pin) { return pin.reason == layout::Pin::Reason::foreign; }

}  // namespace

void set_pins(layout::NodeState& state, std::span<const OwnedInstance> owned, const PinOptions& options) {
  using Reason = layout::Pin::Reason;
  for (layout::Gpu& gpu : state.gpus) {
    gpu.pins.clear();
    for (const LeasedPlace& place : options.leased)
      if (place.whole_gpu && place.gpu == gpu.uuid) gpu.pins.push_back({Reason::leased, place.text});
    for (layout::GpuInstance& instance : gpu.instances) {
      instance.pins.clear();
      for (const layout::Process& process : gpu.processes)
        if (process.gpu_instance == instance.id) instance.pins.push_back({Reason::busy, to_string(process)});
      const bool refused = std::ranges::any_of(options.refused, [&](const RefusedPlace& place) {
        return place.gpu == gpu.uuid && place.start == instance.placement.start;
      });
      if (refused && instance.pins.empty())
        instance.pins.push_back({Reason::busy, "a process that the driver does not list"});
      for (const LeasedPlace& place : options.leased)
        if (!place.whole_gpu && place.gpu == gpu.uuid && place.start == instance.placement.start)
          instance.pins.push_back({Reason::leased, place.text});
      if (!options.adopt && !is_owned(owned, gpu, instance))
        instance.pins.push_back({Reason::foreign, "not made by partita"});
    }
  }
}

bool is_foreign(const layout::GpuInstance& instance) { return std::ranges::any_of(instance.pins, says_foreign); }

void unpin_foreign(layout::GpuInstance& instance) { std::erase_if(instance.pins, says_foreign); }

std::vector<OwnedInstance> foreign_instances(const layout::NodeState& state, std::span<const OwnedInstance> owned) {
  std::vector<OwnedInstance> foreign;
  for (const layout::Gpu& gpu : state.gpus)
    for (const layout::GpuInstance& instance : gpu.instances)
      if (!is_owned(owned, gpu, instance))
        foreign.push_back({gpu.uuid, instance.id, nvml_profile(gpu, instance), instance.placement.start, 0});
  return foreign;
}

std::vector<OwnedInstance> stale_marks(const layout::NodeState& state, std::span<const OwnedInstance> owned) {
  std::vector<OwnedInstance> stale;
  for (const OwnedInstance& mark : owned) {
    const auto gpu = std::ranges::find(state.gpus, mark.gpu, &layout::Gpu::uuid);
    if (gpu == state.gpus.end() || gpu->fault) continue;  // not known now: a lost GPU may come back
    const bool live = std::ranges::any_of(gpu->instances, [&](const auto& i) { return matches(mark, *gpu, i); });
    if (!live) stale.push_back(mark);
  }
  return stale;
}

std::string to_string(const layout::Process& process) {
  return process.name.empty() ? fmt::format("pid {}", process.pid)
                              : fmt::format("pid {} ({})", process.pid, process.name);
}

std::string describe_pins(const catalog::Board& board, const layout::GpuInstance& instance) {
  std::vector<std::string> holders;
  for (const layout::Pin& pin : instance.pins) holders.push_back(pin.holder);
  return fmt::format("{}: {}", layout::name_at(board, instance.profile, instance.placement.start), join(holders, ", "));
}

std::string label(const layout::Gpu& gpu) { return fmt::format("GPU {}", gpu.index); }

}  // namespace partita::node
