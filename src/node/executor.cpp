#include "node/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "node/reset.h"
#include "node/signals.h"

namespace partita::node {
namespace {

bool is_mode_or_reset(const Action& action) {
  return action.record.kind == StepKind::set_mode || action.record.kind == StepKind::reset;
}

}  // namespace

Result<void> Executor::run(std::vector<GpuWork> works, std::vector<Action> actions) {
  works_ = std::move(works);
  actions_ = std::move(actions);
  const auto first_mode = std::ranges::find_if(actions_, is_mode_or_reset);
  const auto before = static_cast<std::size_t>(first_mode - actions_.begin());
  // From the first driver call on the device has changed: every way out of here rolls back or leaves the journal open.
  TRY_VOID(run_instance_steps(0, before));
  if (first_mode == actions_.end()) return {};
  TRY_VOID(change_modes());
  // From here on the boards are the driver's own, and actions_ holds only what is still to do.
  return run_instance_steps(0, actions_.size());
}

Result<void> Executor::change_modes() {
  std::size_t position = static_cast<std::size_t>(std::ranges::find_if(actions_, is_mode_or_reset) - actions_.begin());
  for (; position < actions_.size() && actions_[position].record.kind == StepKind::set_mode; ++position) {
    TRY_VOID(check_interrupted());
    announce(actions_[position], position);
    TRY_VOID(set_mode(actions_[position]));
  }
  std::size_t resets = 0;
  while (position + resets < actions_.size() && actions_[position + resets].record.kind == StepKind::reset) ++resets;
  if (!to_reset_.empty() && !options_.skip_reset) TRY_VOID(reset(position, resets));
  TRY_VOID(context_.driver.reopen());  // handles, minors and indices may be others now
  return plan_again(position + resets);
}

Result<void> Executor::set_mode(const Action& action) {
  TRY_VOID(context_.ledger.mark(operation_.id, std::nullopt, action.record.ordinal));
  const driver::ModeChange outcome = TRY(context_.driver.set_mig_mode(action.record.gpu, action.record.enable));
  driver_changed("set_mode");
  if (outcome == driver::ModeChange::in_use)
    return fail(ErrorCode::busy, fmt::format("{}: the driver answered IN_USE: something has the GPU open; end it (or "
                                             "stop it by a pre-apply-mode hook) and try again",
                                             action.text));
  if (outcome == driver::ModeChange::reset_required) to_reset_.push_back(action.record.gpu);
  return context_.ledger.mark(operation_.id, action.record.ordinal, std::nullopt);
}

// All GPUs in one command: a reset takes seconds, and NVLink peers can only go together.
Result<void> Executor::reset(std::size_t first, std::size_t count) {
  if (count == 0)
    return fail(ErrorCode::driver, fmt::format("{}: the driver wants a reset, which this board should not need (in a "
                                               "virtual machine: a reboot); with --skip-reset the change waits for it",
                                               label(gpu(to_reset_.front()))));
  std::vector<std::string> bus_ids;
  for (std::size_t i = first; i < first + count; ++i) {
    announce(actions_[i], i);
    bus_ids.push_back(gpu(actions_[i].record.gpu).pci_bus_id);
    TRY_VOID(context_.ledger.mark(operation_.id, std::nullopt, actions_[i].record.ordinal));
  }
  TRY_VOID(run_reset(context_.options.reset_command, bus_ids, context_.options.reset_timeout));
  driver_changed("reset");
  for (std::size_t i = first; i < first + count; ++i)
    TRY_VOID(
        context_.ledger.mark_gone(operation_.id, actions_[i].record.ordinal, actions_[i].record.gpu, std::nullopt));
  return {};
}

// The driver's own tables are read now; where they differ from the catalog's, the plan follows the driver.
Result<void> Executor::plan_again(std::size_t done) {
  const int next = actions_[done - 1].record.ordinal + 1;
  const layout::NodeState state = TRY(read_node(context_));
  std::vector<layout::GpuTarget> targets;
  for (const GpuWork& work : works_) {
    layout::GpuTarget target = work.asked;
    const auto live = std::ranges::find(state.gpus, target.gpu, &layout::Gpu::uuid);
    if (live != state.gpus.end() && live->board && work.change.board)
      target = TRY(retarget(target, *work.change.board, *live->board));
    targets.push_back(std::move(target));
  }
  TargetPlan plan = TRY(plan_targets(state, targets, options_));
  for (const GpuWork& work : plan.works) {
    if (work.change.set_mode && !options_.skip_reset)
      return fail(ErrorCode::driver, fmt::format("{}: the driver took the mode change, but MIG mode is still {}",
                                                 label(work.change.before), *work.change.set_mode ? "off" : "on"));
    const auto entry = std::ranges::find(operation_.gpus, work.record.gpu, &OperationGpu::gpu);
    if (!exact_ && entry != operation_.gpus.end() && entry->new_layout.instances)
      entry->new_layout = work.record.new_layout;
  }
  std::erase_if(plan.works, [](const GpuWork& work) { return work.change.set_mode.has_value(); });  // wait for a reset
  works_ = std::move(plan.works);
  done_before_ += done;
  actions_ = actions_of(works_, options_, next);
  return context_.ledger.replan(operation_, records_of(actions_));
}

Result<void> Executor::run_instance_steps(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    TRY_VOID(check_interrupted());
    announce(actions_[i], i);
    TRY_VOID(context_.ledger.mark(operation_.id, std::nullopt, actions_[i].record.ordinal));
    if (auto done = run_instance_step(actions_[i]); !done)
      return std::unexpected(in_context(actions_[i].text, std::move(done).error()));
  }
  return {};
}

Result<void> Executor::run_instance_step(const Action& action) {
  using Kind = plan::Step::Kind;
  const auto begun = std::chrono::steady_clock::now();
  TRY_VOID(do_instance_step(action));
  const auto took = std::chrono::steady_clock::now() - begun;
  if (action.step.kind == Kind::create_gpu_instance) context_.measures.cut.add(took);
  if (action.step.kind == Kind::destroy_gpu_instance) context_.measures.destroy.add(took);
  return {};
}

Result<void> Executor::do_instance_step(const Action& action) {
  layout::Gpu& live = gpu(action.record.gpu);
  switch (action.step.kind) {
    case plan::Step::Kind::destroy_compute:
      return destroy_compute(action, live);
    case plan::Step::Kind::destroy_gpu_instance:
      return destroy_gpu_instance(action, live);
    case plan::Step::Kind::create_gpu_instance:
      return create_gpu_instance(action, live);
    case plan::Step::Kind::create_compute:
      break;
  }
  return create_compute(action, live);
}

namespace {

Result<layout::GpuInstance*> at_place(layout::Gpu& gpu, const plan::Step& step) {
  for (layout::GpuInstance& instance : gpu.instances)
    if (instance.profile == step.profile && instance.placement.start == step.start) return &instance;
  return fail(ErrorCode::internal,
              fmt::format("no GPU instance is at {}", layout::name_at(*gpu.board, step.profile, step.start)));
}

}  // namespace

Result<void> Executor::destroy_compute(const Action& action, layout::Gpu& live) {
  layout::GpuInstance& instance = *TRY(at_place(live, action.step));
  const auto compute = std::ranges::find_if(instance.compute, [&](const layout::ComputeInstance& c) {
    return c.profile == action.step.compute && c.placement.start == action.step.compute_start;
  });
  if (compute == instance.compute.end()) return fail(ErrorCode::internal, "no such compute instance");
  auto done = context_.driver.destroy_compute_instance(live, instance.id, compute->id);
  if (!done && done.error().code == ErrorCode::busy) context_.refused.push_back({live.uuid, action.step.start});
  TRY_VOID(std::move(done));
  driver_changed("destroy_compute");
  instance.compute.erase(compute);
  return context_.ledger.mark(operation_.id, action.record.ordinal, std::nullopt);
}

Result<void> Executor::destroy_gpu_instance(const Action& action, layout::Gpu& live) {
  layout::GpuInstance& instance = *TRY(at_place(live, action.step));
  const int id = instance.id;
  auto done = context_.driver.destroy_gpu_instance(live, id);
  if (!done && done.error().code == ErrorCode::busy) context_.refused.push_back({live.uuid, action.step.start});
  TRY_VOID(std::move(done));
  driver_changed("destroy_gpu_instance");
  std::erase_if(live.instances, [&](const layout::GpuInstance& i) { return i.id == id; });
  return context_.ledger.mark_gone(operation_.id, action.record.ordinal, live.uuid, id);
}

Result<void> Executor::create_gpu_instance(const Action& action, layout::Gpu& live) {
  layout::GpuInstance made = TRY(context_.driver.create_gpu_instance(live, action.step.profile, action.step.start));
  driver_changed("create_gpu_instance");
  const OwnedInstance mark{live.uuid, made.id, action.record.profile, action.step.start, operation_.id};
  live.instances.push_back(std::move(made));
  return context_.ledger.mark_made(operation_.id, action.record.ordinal, context_.epoch, mark);
}

Result<void> Executor::create_compute(const Action& action, layout::Gpu& live) {
  layout::GpuInstance& instance = *TRY(at_place(live, action.step));
  layout::ComputeInstance made =
      TRY(context_.driver.create_compute_instance(live, instance, action.step.compute, action.step.compute_start));
  driver_changed("create_compute");
  instance.compute.push_back(std::move(made));
  return context_.ledger.mark(operation_.id, action.record.ordinal, std::nullopt);
}

// Between two steps; what leads back to a whole layout is not stopped.
Result<void> Executor::check_interrupted() const {
  const auto signal = exact_ ? std::string_view() : waiting_signal();
  if (signal.empty()) return {};
  return fail(ErrorCode::unavailable, fmt::format("interrupted by {}", signal));
}

void Executor::announce(const Action& action, std::size_t position) {
  context_.progress.step(static_cast<int>(done_before_ + position) + 1,
                         static_cast<int>(done_before_ + actions_.size()), action.text);
}

void Executor::driver_changed(const char* what) {
  if (context_.options.on_event) context_.options.on_event(what);
}

layout::Gpu& Executor::gpu(const std::string& uuid) {
  return std::ranges::find(works_, uuid,
                           [](const GpuWork& work) -> const std::string& { return work.change.before.uuid; })
      ->change.before;
}

void tell_hits(Context& context, const TargetPlan& plan) {
  for (const std::string& hit : plan.hits)
    context.progress.note(fmt::format("--force: this will be destroyed: {}", hit));
}

Result<void> verify(const Operation& operation, bool forward, const layout::NodeState& state,
                    const std::vector<std::string>& without) {
  for (const OperationGpu& gpu : operation.gpus) {
    if (std::ranges::find(without, gpu.gpu) != without.end()) continue;
    const auto live = std::ranges::find(state.gpus, gpu.gpu, &layout::Gpu::uuid);
    const LayoutRecord& layout = forward ? gpu.new_layout : gpu.old_layout;
    if (live == state.gpus.end() || !is_as(*live, layout, operation.skip_reset))
      return fail(ErrorCode::driver,
                  fmt::format("{}: all steps were done, but the driver shows another layout than was asked",
                              live == state.gpus.end() ? gpu.gpu : label(*live)));
  }
  return {};
}

}  // namespace partita::node
