#include "node/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "node/pins.h"
#include "node/target.h"

namespace partita::node {
namespace {

using Counts = std::map<std::string, int>;  // "3g.20gb" or, with placements, "3g.20gb@4"

struct Counter {
  const catalog::Board& board;
  bool with_places = false;
  Counts counts;

  void add(int profile, int start, const std::vector<std::pair<int, int>>& compute) {
    const catalog::Profile& p = board.profiles[static_cast<std::size_t>(profile)];
    const std::string place = with_places ? fmt::format("@{}", start) : "";
    if (compute.empty()) ++counts[fmt::format("{}{} without compute instance", p.name, place)];
    for (const auto& [index, compute_start] : compute)
      ++counts[p.compute[static_cast<std::size_t>(index)].name + place +
               (with_places ? fmt::format("/{}", compute_start) : "")];
  }
};

Counts found_on(const layout::Gpu& gpu, bool with_places) {
  Counter counter{*gpu.board, with_places, {}};
  for (const layout::GpuInstance& instance : gpu.instances) {
    std::vector<std::pair<int, int>> compute;
    for (const layout::ComputeInstance& c : instance.compute) compute.emplace_back(c.profile, c.placement.start);
    counter.add(instance.profile, instance.placement.start, compute);
  }
  return counter.counts;
}

Counts asked_of(const layout::Gpu& gpu, const std::vector<layout::WantedInstance>& wanted, bool with_places) {
  Counter counter{*gpu.board, with_places, {}};
  for (const layout::WantedInstance& instance : wanted) {
    std::vector<std::pair<int, int>> compute;
    for (std::size_t i = 0; i < instance.compute.size(); ++i)
      compute.emplace_back(instance.compute[i], instance.compute_starts ? (*instance.compute_starts)[i] : 0);
    counter.add(instance.profile, instance.start.value_or(0), compute);
  }
  return counter.counts;
}

std::string on_off(bool on) { return on ? "on" : "off"; }

void compare_mode(const layout::Gpu& gpu, const layout::GpuTarget& target, Differences& differences) {
  const bool now = gpu.mode && gpu.mode->current;
  const bool pending = gpu.mode && gpu.mode->pending;
  if (now != target.mig_enabled)
    differences.mode.push_back(
        {gpu.uuid, fmt::format("{}: MIG mode {} wanted, {} found{}", label(gpu), on_off(target.mig_enabled),
                               on_off(now), pending != now ? ", the change waits for a reset" : "")});
  else if (pending != target.mig_enabled)
    differences.mode.push_back({gpu.uuid, fmt::format("{}: MIG mode {} wanted and found, but {} is pending", label(gpu),
                                                      on_off(now), on_off(pending))});
}

void compare_instances(const layout::Gpu& gpu, const layout::GpuTarget& target, Differences& differences) {
  static const std::vector<layout::WantedInstance> kNothing;
  if (target.mig_enabled && !target.instances) return;
  if (!gpu.board || !gpu.board->has_mig()) return;
  const auto& wanted = target.mig_enabled ? *target.instances : kNothing;
  const bool with_places = std::ranges::any_of(wanted, [](const auto& w) { return w.start.has_value(); });
  const Counts asked = asked_of(gpu, wanted, with_places);
  const Counts found = found_on(gpu, with_places);
  Counts all = asked;
  all.insert(found.begin(), found.end());
  const auto count = [](const Counts& counts, const std::string& name) {
    const auto at = counts.find(name);
    return at == counts.end() ? 0 : at->second;
  };
  for (const auto& [name, unused] : all)
    if (count(asked, name) != count(found, name))
      differences.instances.push_back({gpu.uuid, fmt::format("{}: {}: {} wanted, {} found", label(gpu), name,
                                                             count(asked, name), count(found, name))});
}

}  // namespace

Differences compare(const layout::NodeState& state, std::span<const layout::GpuTarget> targets, bool mode_only) {
  Differences differences;
  for (const layout::Gpu& gpu : state.gpus) {
    const auto target = std::ranges::find(targets, gpu.uuid, &layout::GpuTarget::gpu);
    if (target == targets.end()) continue;
    if (gpu.fault) {
      differences.mode.push_back({gpu.uuid, fmt::format("{}: its state is not known: {}", label(gpu), *gpu.fault)});
      continue;
    }
    compare_mode(gpu, *target, differences);
    if (!mode_only) compare_instances(gpu, *target, differences);
  }
  return differences;
}

Result<api::AssertAnswer> check_node(const layout::NodeState& state, const api::PlanRequest& request) {
  layout::NodeTarget target = TRY(resolve(request.wanted, state, false));
  api::AssertAnswer answer;
  answer.warnings = std::move(target.warnings);
  Differences differences = compare(state, target.gpus, request.options.mode_only);
  answer.differences = std::move(differences.mode);
  std::ranges::move(differences.instances, std::back_inserter(answer.differences));
  if (std::holds_alternative<api::DemandRequest>(request.wanted)) return answer;
  for (const layout::Gpu& gpu : state.gpus)
    if (std::ranges::find(target.gpus, gpu.uuid, &layout::GpuTarget::gpu) == target.gpus.end())
      answer.differences.push_back(
          {gpu.uuid, fmt::format("{} ({}): nothing is asked for it", label(gpu), gpu.product)});
  return answer;
}

}  // namespace partita::node
