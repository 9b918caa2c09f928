#include "node/apply.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "node/check.h"
#include "node/executor.h"
#include "node/hooks.h"
#include "node/lock.h"
#include "node/planner.h"
#include "node/recover.h"
#include "node/signals.h"
#include "node/target.h"

namespace partita::node {
namespace {

constexpr int kMostAttempts = 3;

struct Attempt {
  Result<api::ApplyAnswer> answer;
  bool restored = false;  // it failed on the way and the old layout is back
};

class Apply {
 public:
  Apply(Context& context, const api::PlanRequest& request, Recovered recovered)
      : context_(context), request_(request), recovered_(std::move(recovered)) {}

  // The driver's word is final: when it refuses what looked free, the plan is made again from what it shows then.
  Result<api::ApplyAnswer> run() {
    for (int attempt = 1;; ++attempt) {
      Attempt outcome = once();
      if (outcome.answer || !outcome.restored) return std::move(outcome.answer);
      const Error& error = outcome.answer.error();
      const bool told_otherwise = error.code == ErrorCode::busy || error.code == ErrorCode::no_space;
      if (!told_otherwise || request_.options.force || attempt == kMostAttempts) return std::move(outcome.answer);
      context_.progress.note(fmt::format("planning again: {}", error.message));
    }
  }

 private:
  struct Planned {
    layout::NodeState state;
    TargetPlan plan;
    std::vector<std::string> warnings;
    std::vector<OwnedInstance> adopted;
  };

  Result<Planned> plan() {
    Planned planned;
    planned.state = TRY(read_node(context_));
    layout::NodeTarget target = TRY(resolve(request_.wanted, planned.state, request_.options.force));
    planned.warnings = std::move(target.warnings);
    planned.plan = TRY(plan_targets(planned.state, target.gpus, options_));
    for (const GpuWork& work : planned.plan.works)
      for (const Unfinished& left : recovered_.unfinished)
        if (left.gpu == work.record.gpu) return std::unexpected(unfinished_error(work, left));
    if (request_.options.adopt) planned.adopted = TRY(adoptees(planned.state, target));
    return planned;
  }

  static Error unfinished_error(const GpuWork& work, const Unfinished& left) {
    Error error =
        in_context(fmt::format("{} is still in the middle of an earlier apply", label(work.change.before)), left.error);
    error.details.emplace_back(
        "the next apply tries again to finish that or to roll it back; --force does it over "
        "pinned instances");
    return error;
  }

  // Foreign instances on the GPUs that are asked for; a demand asks for all.
  Result<std::vector<OwnedInstance>> adoptees(const layout::NodeState& state, const layout::NodeTarget& target) {
    std::vector<OwnedInstance> found = foreign_instances(state, TRY(context_.ledger.owned(context_.epoch)));
    if (!std::holds_alternative<api::DemandRequest>(request_.wanted))
      std::erase_if(found, [&](const OwnedInstance& instance) {
        return std::ranges::find(target.gpus, instance.gpu, &layout::GpuTarget::gpu) == target.gpus.end();
      });
    return found;
  }

  Attempt once() {
    auto planned = plan();
    if (!planned) return {std::unexpected(std::move(planned).error())};
    tell_hits(context_, planned->plan);
    if (auto owned = context_.ledger.own(context_.epoch, planned->adopted); !owned)
      return {std::unexpected(std::move(owned).error())};
    if (planned->plan.works.empty()) return {answer(*planned, planned->state)};

    Operation operation = intent(*planned);
    std::vector<Action> actions = actions_of(planned->plan.works, options_, 1);
    operation.steps = records_of(actions);
    if (auto begun = context_.ledger.begin(operation, context_.clock.now()); !begun)
      return {std::unexpected(std::move(begun).error())};
    auto after = act(operation, *planned, std::move(actions));
    if (after) return {answer(*planned, *after)};
    return roll_back(operation, std::move(after).error());
  }

  Operation intent(const Planned& planned) const {
    Operation operation;
    operation.epoch = context_.epoch;
    operation.pid = getpid();
    operation.command = own_command();
    operation.skip_reset = request_.options.skip_reset;
    for (const GpuWork& work : planned.plan.works) operation.gpus.push_back(work.record);
    return operation;
  }

  Result<layout::NodeState> act(Operation& operation, const Planned& planned, std::vector<Action> actions) {
    Executor executor(context_, operation, options_, false);
    TRY_VOID(executor.run(planned.plan.works, std::move(actions)));
    layout::NodeState after = TRY(read_node(context_));
    TRY_VOID(verify(operation, true, after));
    TRY_VOID(context_.ledger.end(operation.id, false, context_.clock.now()));
    return after;
  }

  Attempt roll_back(const Operation& failed, Error error) {
    context_.progress.note(fmt::format("rolling back: {}", error.message));
    auto settled = settle_back(failed.id);
    if (settled && settled->empty()) {
      error.details.emplace_back("nothing was changed: the old layout is back");
      return {std::unexpected(std::move(error)), true};
    }
    error.details.emplace_back("unfinished: the old layout could not be restored; the next apply tries again");
    if (!settled) error.details.push_back(settled.error().message);
    if (settled)
      for (const Unfinished& left : *settled) error.details.push_back(left.error.message);
    return {std::unexpected(std::move(error)), false};
  }

  Result<std::vector<Unfinished>> settle_back(std::int64_t id) {
    for (Operation& operation : TRY(context_.ledger.open_operations()))
      if (operation.id == id) return settle(context_, std::move(operation), false);
    return fail(ErrorCode::internal, "the operation is not in the journal");
  }

  api::ApplyAnswer answer(const Planned& planned, layout::NodeState after) const {
    api::ApplyAnswer result;
    result.plan = answer_of(planned.state, planned.plan, planned.warnings);
    for (const layout::Gpu& gpu : after.gpus)
      if (gpu.mode && gpu.mode->current != gpu.mode->pending) result.pending_reset.push_back(gpu.uuid);
    result.after = std::move(after);
    result.recovered = recovered_.notes;
    return result;
  }

  Context& context_;
  const api::PlanRequest& request_;
  Recovered recovered_;
  const PlanOptions options_{.mode_only = request_.options.mode_only,
                             .skip_reset = request_.options.skip_reset,
                             .force = request_.options.force};
};

// Hooks run before anything is planned, because what they stop may be what is in the way; and only where something
// differs, as mig-parted runs them.
Result<void> run_hooks_before(Context& context, const api::PlanRequest& request) {
  const layout::HooksFile& hooks = request.options.hooks;
  if (hooks.pre_apply_mode.empty() && hooks.pre_apply_config.empty()) return {};
  const layout::NodeState state = TRY(read_node(context));
  const layout::NodeTarget target = TRY(resolve(request.wanted, state, request.options.force));
  const Differences differences = compare(state, target.gpus, request.options.mode_only);
  if (!differences.mode.empty())
    TRY_VOID(run_hooks("pre-apply-mode", hooks.pre_apply_mode, context.options.hook_timeout));
  if (!differences.instances.empty())
    TRY_VOID(run_hooks("pre-apply-config", hooks.pre_apply_config, context.options.hook_timeout));
  return {};
}

Result<api::ApplyAnswer> apply_between_hooks(Context& context, const api::PlanRequest& request, Recovered recovered) {
  TRY_VOID(run_hooks("apply-start", request.options.hooks.apply_start, context.options.hook_timeout));
  TRY_VOID(run_hooks_before(context, request));
  return Apply(context, request, std::move(recovered)).run();
}

}  // namespace

Result<api::ApplyAnswer> apply_locked(Context& context, const api::PlanRequest& request, Recovered before) {
  const SignalsWait signals_wait;  // an interrupted apply goes back to the old layout, and its apply-exit hook runs
  // Recovery keeps to what is ours, unless that bars both ways out and this apply may go further.
  Recovered recovered = TRY(recover(context));
  recovered.notes.insert(recovered.notes.begin(), before.notes.begin(), before.notes.end());
  context.adopt = request.options.adopt;
  context.force = request.options.force;
  if (!recovered.unfinished.empty() && context.force) {
    Recovered again = TRY(recover(context));
    recovered.unfinished = std::move(again.unfinished);
    std::ranges::move(again.notes, std::back_inserter(recovered.notes));
  }
  for (const std::string& note : recovered.notes) context.progress.note(note);
  // A request that cannot be understood here stops before any hook does.
  const layout::NodeState state = TRY(read_node(context));
  if (request.only_if) TRY_VOID(request.only_if(state));
  TRY_VOID(resolve(request.wanted, state, request.options.force));

  auto result = apply_between_hooks(context, request, std::move(recovered));
  const auto left = run_hooks("apply-exit", request.options.hooks.apply_exit, context.options.hook_timeout);
  if (left) return result;
  if (!result) {
    result.error().details.push_back(left.error().message);
    return result;
  }
  Error error = left.error();
  error.details.emplace_back("the layout itself was applied");
  return std::unexpected(std::move(error));
}

}  // namespace partita::node
