#include "node/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "node/pins.h"
#include "node/reset.h"

namespace partita::node {
namespace {

using StepsKind = plan::Step::Kind;

bool is_on(const layout::Gpu& gpu) { return gpu.mode && gpu.mode->current; }
bool switches(const layout::Gpu& gpu, const layout::GpuTarget& target) { return is_on(gpu) != target.mig_enabled; }
bool needs_reset(const layout::Gpu& gpu, const layout::GpuTarget& target) {
  return switches(gpu, target) && gpu.board && gpu.board->mode_change_needs_reset;
}

// Can this GPU be asked for this at all?
Result<void> check_target(const layout::Gpu& gpu, const layout::GpuTarget& target, const PlanOptions& options) {
  if (gpu.fault)
    return fail(ErrorCode::driver,
                fmt::format("{} ({}): {}; nothing can be changed on it", label(gpu), gpu.uuid, *gpu.fault));
  if (!gpu.mode && target.mig_enabled)
    return fail(ErrorCode::impossible, fmt::format("{} ({}) has no MIG", label(gpu), gpu.product));
  const bool cuts = !options.mode_only && target.instances && !target.instances->empty();
  if (cuts && (!gpu.board || !gpu.board->has_mig()))
    return fail(ErrorCode::not_found,
                fmt::format("{} ({}): the catalog does not know this board, so what it offers is known only with MIG "
                            "mode on: change the mode alone first (--mode-only)",
                            label(gpu), gpu.product));
  return {};
}

// Both, one after the other.
plan::GpuPlan joined(plan::GpuPlan first, plan::GpuPlan second) {
  second.steps.insert(second.steps.begin(), first.steps.begin(), first.steps.end());
  second.gpu_instances_destroyed += first.gpu_instances_destroyed;
  second.gpu_instances_created += first.gpu_instances_created;
  second.compute_destroyed += first.compute_destroyed;
  second.compute_created += first.compute_created;
  return second;
}

struct Steps {
  plan::GpuPlan plan;
  std::optional<std::vector<layout::GpuInstance>> result;  // nullopt: instances are left as they are
};

class GpuPlanner {
 public:
  GpuPlanner(const layout::Gpu& gpu, const PlanOptions& options) : gpu_(gpu), options_(options) {}

  Result<Steps> steps(const layout::GpuTarget& target, bool resets, bool waits_for_reset) {
    if (!target.mig_enabled) return off();
    if (waits_for_reset || !target.instances) return untouched();
    if (options_.mode_only && !(resets && is_on(gpu_))) return untouched();
    if (!is_on(gpu_) && !gpu_.board) return untouched();
    if (!resets) return between(gpu_, *target.instances);
    // A reset takes all instances away: they go one by one before it, and come again after it.
    layout::Gpu bare = gpu_;
    bare.instances.clear();
    Steps first = TRY(between(gpu_, {}));
    Steps second = TRY(between(bare, *target.instances));
    return Steps{joined(std::move(first.plan), std::move(second.plan)), std::move(second.result)};
  }

 private:
  Result<Steps> off() {
    if (!is_on(gpu_) || gpu_.instances.empty()) {
      Steps none = untouched();
      none.result.emplace();
      return none;
    }
    if (options_.mode_only)
      return fail(ErrorCode::busy,
                  fmt::format("{} has {} GPU instances, and turning MIG mode off needs none: without --mode-only the "
                              "idle ones are destroyed",
                              label(gpu_), gpu_.instances.size()));
    return between(gpu_, {});
  }

  Result<Steps> between(const layout::Gpu& from, const std::vector<layout::WantedInstance>& wanted) {
    const plan::Geometry geometry(*from.board);
    plan::GpuPlan planned = TRY(plan::transition(from, geometry, wanted, options_.force));
    auto result = TRY(plan::replay(from, geometry, planned.steps));
    return Steps{std::move(planned), std::move(result)};
  }

  Steps untouched() const {
    Steps steps;
    steps.plan.gpu = gpu_.uuid;
    for (const layout::GpuInstance& i : gpu_.instances) steps.plan.result.push_back({i.profile, i.placement.start});
    steps.plan.kept = steps.plan.result;
    return steps;
  }

  const layout::Gpu& gpu_;
  const PlanOptions& options_;
};

Result<GpuWork> plan_gpu(const layout::NodeState& state, const layout::Gpu& gpu, const layout::GpuTarget& target,
                         bool resets, const PlanOptions& options) {
  GpuWork work{target, {}, {}, resets};
  api::GpuChange& change = work.change;
  change.before = gpu;
  change.board = gpu.board;
  change.needs_reset = needs_reset(gpu, target);
  if (gpu.mode && (switches(gpu, target) || gpu.mode->pending != target.mig_enabled))
    change.set_mode = target.mig_enabled;
  if (change.needs_reset)
    for (const layout::Gpu* member : reset_group(state, gpu)) change.reset_together.push_back(member->pci_bus_id);

  const bool waits = change.needs_reset && options.skip_reset;
  Steps steps = TRY(GpuPlanner(gpu, options).steps(target, resets, waits));
  change.plan = std::move(steps.plan);
  work.record = {gpu.uuid, record_of(gpu), {target.mig_enabled, std::nullopt}};
  if (steps.result && gpu.board) work.record.new_layout = record_of(*gpu.board, target.mig_enabled, *steps.result);
  if (steps.result && !gpu.board) work.record.new_layout.instances.emplace();
  return work;
}

// The pinned instances that the steps destroy or cut into.
void add_hits(const GpuWork& work, std::vector<std::string>& hits) {
  const layout::Gpu& gpu = work.change.before;
  for (const layout::GpuInstance& instance : gpu.instances) {
    const bool hit = std::ranges::any_of(work.change.plan.steps, [&](const plan::Step& step) {
      const bool destroys = step.kind == StepsKind::destroy_compute || step.kind == StepsKind::destroy_gpu_instance;
      return destroys && step.start == instance.placement.start && step.profile == instance.profile;
    });
    if (hit && instance.pinned())
      hits.push_back(fmt::format("{}: {}", label(gpu), describe_pins(*gpu.board, instance)));
  }
}

Result<const layout::Gpu*> find_gpu(const layout::NodeState& state, const std::string& uuid) {
  const auto found = std::ranges::find(state.gpus, uuid, &layout::Gpu::uuid);
  if (found == state.gpus.end()) return fail(ErrorCode::not_found, fmt::format("{} is not on this node", uuid));
  return &*found;
}

// UUIDs of all GPUs that are reset, checked to be idle. Empty when resets are left to the user.
Result<std::vector<std::string>> find_resets(const layout::NodeState& state, std::span<const layout::GpuTarget> targets,
                                             const PlanOptions& options) {
  std::vector<std::string> resets;
  for (const layout::GpuTarget& target : targets) {
    const layout::Gpu& gpu = *TRY(find_gpu(state, target.gpu));
    TRY_VOID(check_target(gpu, target, options));
    if (!switches(gpu, target) || !gpu.mode) continue;
    const bool reset = needs_reset(gpu, target) && !options.skip_reset;
    std::vector<const layout::Gpu*> group = {&gpu};
    if (reset) group = reset_group(state, gpu);
    TRY_VOID(check_idle(gpu, group, reset, options.force));
    for (const layout::Gpu* member : group)
      if (reset && std::ranges::find(resets, member->uuid) == resets.end()) resets.push_back(member->uuid);
  }
  return resets;
}

bool same_layout(const GpuWork& work) { return !work.resets && !work.change.set_mode && !work.change.plan.changes(); }

}  // namespace

Result<TargetPlan> plan_targets(const layout::NodeState& state, std::span<const layout::GpuTarget> targets,
                                const PlanOptions& options) {
  TargetPlan plan;
  std::vector<std::string> resets = TRY(find_resets(state, targets, options));
  std::vector<layout::GpuTarget> all(targets.begin(), targets.end());
  for (const std::string& uuid : resets) {
    if (std::ranges::find(all, uuid, &layout::GpuTarget::gpu) != all.end()) continue;
    const layout::Gpu& peer = *TRY(find_gpu(state, uuid));  // it comes back as it is
    all.push_back(TRY(target_of(record_of(peer), peer)));
  }
  for (layout::GpuTarget& target : all) {
    const layout::Gpu& gpu = *TRY(find_gpu(state, target.gpu));
    const bool reset = std::ranges::find(resets, target.gpu) != resets.end();
    if (reset && target.mig_enabled && is_on(gpu) && (!target.instances || options.mode_only))
      target.instances = TRY(target_of(record_of(gpu), gpu)).instances;
    GpuWork work = TRY(plan_gpu(state, gpu, target, reset, options));
    if (same_layout(work)) {
      plan.unchanged.push_back(target.gpu);
      continue;
    }
    add_hits(work, plan.hits);
    plan.works.push_back(std::move(work));
  }
  return plan;
}

api::NodePlanAnswer answer_of(const layout::NodeState& state, const TargetPlan& plan,
                              std::vector<std::string> warnings) {
  api::NodePlanAnswer answer;
  answer.before = state;
  answer.unchanged = plan.unchanged;
  answer.warnings = std::move(warnings);
  answer.forced = !plan.hits.empty();
  for (const GpuWork& work : plan.works) {
    answer.changes.push_back(work.change);
    answer.gpu_instances_kept += static_cast<int>(work.change.plan.kept.size());
    answer.gpu_instances_destroyed += work.change.plan.gpu_instances_destroyed;
    answer.gpu_instances_created += work.change.plan.gpu_instances_created;
  }
  for (const layout::Gpu& gpu : state.gpus)
    if (std::ranges::find(plan.unchanged, gpu.uuid) != plan.unchanged.end())
      answer.gpu_instances_kept += static_cast<int>(gpu.instances.size());
  return answer;
}

}  // namespace partita::node
