#include <fmt/format.h>

#include "node/executor.h"
#include "node/pins.h"

namespace partita::node {
namespace {

using Kind = plan::Step::Kind;

bool destroys(const plan::Step& step) {
  return step.kind == Kind::destroy_compute || step.kind == Kind::destroy_gpu_instance;
}

StepKind journal_kind(Kind kind) {
  switch (kind) {
    case Kind::destroy_compute:
      return StepKind::destroy_compute;
    case Kind::destroy_gpu_instance:
      return StepKind::destroy_gpu_instance;
    case Kind::create_gpu_instance:
      return StepKind::create_gpu_instance;
    case Kind::create_compute:
      break;
  }
  return StepKind::create_compute;
}

std::string text_of(const GpuWork& work, const plan::Step& step) {
  const catalog::Board& board = *work.change.board;
  const catalog::Profile& profile = board.profiles[static_cast<std::size_t>(step.profile)];
  const std::string place = layout::name_at(board, step.profile, step.start);
  const std::string verb = destroys(step) ? "destroy" : "create";
  const std::string gpu = label(work.change.before);
  if (step.kind == Kind::destroy_gpu_instance || step.kind == Kind::create_gpu_instance)
    return fmt::format("{}: {} {}", gpu, verb, place);
  return fmt::format("{}: {} compute instance {} in {}", gpu, verb,
                     profile.compute[static_cast<std::size_t>(step.compute)].name, place);
}

class List {
 public:
  explicit List(int first_ordinal) : next_(first_ordinal) {}

  void instance_steps(const GpuWork& work, bool destroying) {
    for (const plan::Step& step : work.change.plan.steps) {
      if (destroys(step) != destroying) continue;
      const auto& profile = work.change.board->profiles[static_cast<std::size_t>(step.profile)];
      StepRecord record = journal(work, journal_kind(step.kind));
      record.profile = profile.nvml_profile;
      record.start = step.start;
      actions_.push_back({record, step, text_of(work, step)});
    }
  }
  void mode(const GpuWork& work) {
    StepRecord record = journal(work, StepKind::set_mode);
    record.enable = work.change.set_mode.value_or(false);
    actions_.push_back(
        {record, {}, fmt::format("{}: turn MIG mode {}", label(work.change.before), record.enable ? "on" : "off")});
  }
  void reset(const GpuWork& work) {
    actions_.push_back({journal(work, StepKind::reset), {}, fmt::format("{}: reset", label(work.change.before))});
  }
  std::vector<Action> take() { return std::move(actions_); }

 private:
  StepRecord journal(const GpuWork& work, StepKind kind) {
    StepRecord record;
    record.ordinal = next_++;
    record.gpu = work.change.before.uuid;
    record.kind = kind;
    return record;
  }

  int next_;
  std::vector<Action> actions_;
};

// Its instances go before the mode changes: because the mode goes off, or because a reset would take them.
bool clears_first(const GpuWork& work) { return work.resets || work.change.set_mode == false; }

}  // namespace

std::vector<Action> actions_of(const std::vector<GpuWork>& works, const PlanOptions& options, int first_ordinal) {
  List list(first_ordinal);
  for (const GpuWork& work : works)
    if (clears_first(work)) list.instance_steps(work, true);
  for (const GpuWork& work : works)
    if (work.change.set_mode) list.mode(work);
  for (const GpuWork& work : works)
    if (work.resets && !options.skip_reset) list.reset(work);
  for (const GpuWork& work : works)
    if (!clears_first(work)) list.instance_steps(work, true);
  for (const GpuWork& work : works) list.instance_steps(work, false);
  return list.take();
}

std::vector<StepRecord> records_of(const std::vector<Action>& actions) {
  std::vector<StepRecord> records;
  for (const Action& action : actions) records.push_back(action.record);
  return records;
}

}  // namespace partita::node
