#include "plan/pack.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/compute_fit.h"
#include "plan/pack_explain.h"
#include "plan/pack_problem.h"
#include "plan/pack_search.h"

namespace partita::plan {

namespace {

using layout::GpuInstance;
using layout::WantedInstance;

WantedInstance as_it_is(const GpuInstance& live) {
  WantedInstance wanted;
  wanted.profile = live.profile;
  wanted.start = live.placement.start;
  wanted.compute_starts.emplace();
  for (const auto& compute : compute_placed(live.compute)) {
    wanted.compute.push_back(compute.profile);
    wanted.compute_starts->push_back(compute.start);
  }
  return wanted;
}

std::vector<WantedInstance> target_of(const Bin& bin, const Option& option) {
  std::vector<WantedInstance> wanted;
  for (const auto* live : bin.pinned) wanted.push_back(as_it_is(*live));
  for (std::size_t i = 0; i < bin.idle.size(); ++i) {
    const auto& fate = option.fates[i];
    if (fate.kind == kDestroyed) continue;
    auto instance = as_it_is(*bin.idle[i]);
    if (fate.recut) {
      instance = bin.kinds[static_cast<std::size_t>(fate.kind)].value_or(instance);
      instance.start = bin.idle[i]->placement.start;
    }
    wanted.push_back(std::move(instance));
  }
  for (std::size_t k = 0; k < bin.kinds.size(); ++k)
    if (const auto& kind = bin.kinds[k]; kind)
      wanted.insert(wanted.end(), static_cast<std::size_t>(option.created[k]), *kind);
  return wanted;
}

Result<NodePlan> write(const PackProblem& problem, const std::vector<Option>& chosen) {
  std::vector<std::pair<int, GpuPlan>> plans;
  for (std::size_t g = 0; g < problem.bins.size(); ++g) {
    const auto& bin = problem.bins[g];
    auto plan = TRY(transition(*bin.gpu, *bin.geometry, target_of(bin, chosen[g])));
    if (plan.changes()) plans.emplace_back(bin.index, std::move(plan));
  }
  std::ranges::sort(plans, {}, [](const auto& entry) { return entry.first; });
  NodePlan node;
  for (auto& [index, plan] : plans) {
    node.gpu_instances_destroyed += plan.gpu_instances_destroyed;
    ++node.gpus_touched;
    node.gpus.push_back(std::move(plan));
  }
  return node;
}

}  // namespace

Result<NodePlan> pack(std::span<const layout::Gpu> gpus, std::span<const DemandItem> demand) {
  const auto problem = TRY(make_problem(gpus, demand));
  const auto chosen = combine(problem);
  if (!chosen) return std::unexpected(explain_no_pack(gpus, demand, problem));
  return write(problem, *chosen);
}

}  // namespace partita::plan
