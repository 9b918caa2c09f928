#include "node/recover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/executor.h"

namespace partita::node {
namespace {

// A create that was under way when its process died: if the instance is there, it made it. Returns the GPUs that do not
// tell now: what was under way there stays so in the journal, to be claimed when they do.
Result<std::vector<std::string>> claim_in_flight(Context& context, const Operation& operation) {
  std::vector<std::string> unseen;
  if (operation.epoch != context.epoch) {
    TRY_VOID(context.ledger.unmark(operation.id));
    return unseen;
  }
  const layout::NodeState state = TRY(context.driver.state());
  std::vector<OwnedInstance> made;
  for (OwnedInstance instance : foreign_instances(state, TRY(context.ledger.owned(context.epoch)))) {
    const bool ours = std::ranges::any_of(operation.steps, [&](const StepRecord& step) {
      return step.kind == StepKind::create_gpu_instance && step.state == StepState::doing && step.gpu == instance.gpu &&
             step.profile == instance.profile && step.start == instance.start;
    });
    instance.generation = operation.id;
    if (ours) made.push_back(std::move(instance));
  }
  for (const OperationGpu& gpu : operation.gpus) {
    const auto live = std::ranges::find(state.gpus, gpu.gpu, &layout::Gpu::uuid);
    if (live == state.gpus.end() || live->fault) unseen.push_back(gpu.gpu);
  }
  TRY_VOID(context.ledger.own(context.epoch, made));
  TRY_VOID(context.ledger.unmark(operation.id, unseen));
  return unseen;
}

// A lost GPU does not tell its UUID, so it may be the one that is missing.
std::string gone(const std::string& uuid, const layout::NodeState& state) {
  for (const layout::Gpu& gpu : state.gpus)
    if (gpu.fault && gpu.uuid.empty()) return fmt::format("{} does not answer; {}: {}", uuid, label(gpu), *gpu.fault);
  return fmt::format("{} is not on this node any more", uuid);
}

struct Aim {
  std::vector<layout::GpuTarget> targets;
  std::vector<Unfinished> out_of_reach;
};

Result<Aim> aim(const Operation& operation, bool forward, const layout::NodeState& state,
                const std::vector<std::string>& unseen, bool force) {
  Aim aim;
  const auto leave = [&](const OperationGpu& gpu, std::string why) {
    aim.out_of_reach.push_back({operation.id, gpu.gpu, Error{ErrorCode::driver, std::move(why), {}}});
  };
  for (const OperationGpu& gpu : operation.gpus) {
    const LayoutRecord& layout = forward ? gpu.new_layout : gpu.old_layout;
    const auto live = std::ranges::find(state.gpus, gpu.gpu, &layout::Gpu::uuid);
    if (live == state.gpus.end())
      leave(gpu, gone(gpu.gpu, state));
    else if (live->fault)
      leave(gpu, fmt::format("{} ({}): {}", label(*live), live->uuid, live->fault.value_or("")));
    else if (std::ranges::find(unseen, gpu.gpu) != unseen.end())
      leave(gpu, fmt::format("{} ({}) did not answer", label(*live), live->uuid));
    else if (!is_as(*live, layout, operation.skip_reset))
      aim.targets.push_back(TRY(target_of(layout, *live, force)));
  }
  return aim;
}

int next_ordinal(const Operation& operation) {
  int next = 1;
  for (const StepRecord& step : operation.steps) next = std::max(next, step.ordinal + 1);
  return next;
}

Result<void> walk(Context& context, Operation& operation, const TargetPlan& plan, const PlanOptions& options) {
  for (const GpuWork& work : plan.works)  // NVLink peers that were not part of it before
    if (std::ranges::find(operation.gpus, work.record.gpu, &OperationGpu::gpu) == operation.gpus.end())
      operation.gpus.push_back(work.record);
  std::vector<Action> actions = actions_of(plan.works, options, next_ordinal(operation));
  TRY_VOID(context.ledger.replan(operation, records_of(actions)));
  return Executor(context, operation, options, true).run(plan.works, std::move(actions));
}

Error both(const Error& first, const Error& second, bool forward) {
  Error error = second;
  error.details.push_back(fmt::format("{}: {}", forward ? "finishing it" : "rolling it back", first.message));
  return error;
}

Result<std::vector<Unfinished>> settle_from_here(Context& context, Operation operation, bool forward) {
  const std::vector<std::string> unseen = TRY(claim_in_flight(context, operation));
  const layout::NodeState state = TRY(read_node(context));
  Aim there = TRY(aim(operation, forward, state, unseen, context.force));
  const PlanOptions options{.mode_only = false, .skip_reset = operation.skip_reset, .force = context.force};
  const TargetPlan plan = TRY(plan_targets(state, there.targets, options));
  operation.forward = forward;
  tell_hits(context, plan);
  TRY_VOID(walk(context, operation, plan, options));

  std::vector<std::string> without;
  for (const Unfinished& gpu : there.out_of_reach) without.push_back(gpu.gpu);
  const layout::NodeState after = TRY(read_node(context));
  TRY_VOID(verify(operation, forward, after, without));
  if (there.out_of_reach.empty()) TRY_VOID(context.ledger.end(operation.id, !forward, context.clock.now()));
  return std::move(there.out_of_reach);
}

}  // namespace

Result<std::vector<Unfinished>> settle(Context& context, Operation operation, bool forward) {
  // A GPU instance that would not go may have lost its compute instances already: those have to come back.
  std::vector<RefusedPlace> refused = std::exchange(context.refused, {});
  auto settled = settle_from_here(context, std::move(operation), forward);
  std::ranges::move(context.refused, std::back_inserter(refused));
  context.refused = std::move(refused);
  return settled;
}

namespace {

struct Settled {
  bool forward = true;
  std::vector<Unfinished> unfinished;
};

// Neither way is open now: the next try begins with the same one, so that what failed is still rolled back.
Result<void> keep_direction(Context& context, const Operation& operation) {
  for (Operation& left : TRY(context.ledger.open_operations())) {
    if (left.id != operation.id || left.forward == operation.forward) continue;
    left.forward = operation.forward;
    TRY_VOID(context.ledger.replan(left, {}));
  }
  return {};
}

// Has `made`, which is not ours, taken the room of `one`?
bool gives_way(const catalog::Board& board, const InstanceRecord& one, const layout::GpuInstance& made) {
  const auto index = profile_index(board, one.profile);
  if (!index) return false;
  const int size = board.profiles[static_cast<std::size_t>(*index)].placement_size;
  const layout::Placement& there = made.placement;
  const bool overlap = one.start < there.start + there.size && there.start < one.start + size;
  return overlap && !(one.foreign && *index == made.profile && one.start == there.start);
}

// The operation with as much of its old layout as there is room for beside what others made since; nullopt: nobody took
// any of it.
std::optional<Operation> beside_others(Operation operation, const layout::NodeState& state) {
  bool less = false;
  for (OperationGpu& gpu : operation.gpus) {
    const auto live = std::ranges::find(state.gpus, gpu.gpu, &layout::Gpu::uuid);
    auto& old = gpu.old_layout.instances;
    if (live == state.gpus.end() || live->fault || !live->board || !old) continue;
    for (const layout::GpuInstance& made : live->instances) {
      if (!is_foreign(made)) continue;
      less |= std::erase_if(*old, [&](const InstanceRecord& one) { return gives_way(*live->board, one, made); }) > 0;
      if (std::ranges::find(*old, made.placement.start, &InstanceRecord::start) == old->end())
        old->push_back(instance_record(*live->board, made));
    }
  }
  return less ? std::optional(std::move(operation)) : std::nullopt;
}

// Neither way is open because of others: what they took stays theirs, the rest comes back.
Result<std::vector<Unfinished>> settle_beside_others(Context& context, const Operation& operation, const Error& why) {
  auto less = beside_others(operation, TRY(read_node(context)));
  if (!less) return std::unexpected(why);
  less->forward = false;
  TRY_VOID(context.ledger.replan(*less, {}));
  return settle(context, *less, false);
}

// The way it was going, else the other one.
Result<Settled> settle_either_way(Context& context, const Operation& operation) {
  auto first = settle(context, operation, operation.forward);
  if (first) return Settled{operation.forward, std::move(*first)};
  // It may have gone some steps that way: what the journal says now counts.
  for (Operation& again : TRY(context.ledger.open_operations())) {
    if (again.id != operation.id) continue;
    auto second = settle(context, again, !operation.forward);
    if (second) return Settled{!operation.forward, std::move(*second)};
    const bool driver_failed = first.error().code == ErrorCode::driver || second.error().code == ErrorCode::driver;
    if (context.beside_others && !driver_failed)
      if (auto third = settle_beside_others(context, again, second.error())) return Settled{false, std::move(*third)};
    TRY_VOID(keep_direction(context, operation));
    Settled none;
    const Error error = both(first.error(), second.error(), operation.forward);
    for (const OperationGpu& gpu : operation.gpus) none.unfinished.push_back({operation.id, gpu.gpu, error});
    return none;
  }
  return std::unexpected(std::move(first).error());
}

}  // namespace

Result<Recovered> recover(Context& context) {
  Recovered recovered;
  for (const Operation& operation : TRY(context.ledger.open_operations())) {
    context.progress.note(fmt::format("settling {}", describe(operation)));
    const Settled settled = TRY(settle_either_way(context, operation));
    if (settled.unfinished.empty())
      recovered.notes.push_back(
          fmt::format("{} {}", settled.forward ? "finished" : "rolled back", describe(operation)));
    recovered.unfinished.insert(recovered.unfinished.end(), settled.unfinished.begin(), settled.unfinished.end());
  }
  return recovered;
}

std::string describe(const Operation& operation) {
  const auto done = std::ranges::count(operation.steps, StepState::done, &StepRecord::state);
  return fmt::format("the apply that pid {} ({}) left after {} of {} steps", operation.pid, operation.command, done,
                     operation.steps.size());
}

}  // namespace partita::node
