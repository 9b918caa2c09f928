// The planner's plans, gone on the driver.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "emulator/control/nvml_return.h"
#include "two_opinions.h"

namespace partita::agreement {

using emulator::GpuInstanceState;
using emulator::kNotFound;
using emulator::kSuccess;
using emulator::NvmlReturn;
using plan::Placed;

namespace {

// An instance with what is inside, by place: (profile, start, {(compute profile, start)}).
using Content = std::tuple<int, int, std::vector<std::pair<int, int>>>;
using Contents = std::vector<Content>;

Content content(const layout::GpuInstance& instance) {
  std::vector<std::pair<int, int>> inside;
  for (const layout::ComputeInstance& compute : instance.compute)
    inside.emplace_back(compute.profile, compute.placement.start);
  std::ranges::sort(inside);
  return {instance.profile, instance.placement.start, std::move(inside)};
}

Contents contents(const layout::Gpu& gpu) {
  Contents all;
  for (const layout::GpuInstance& instance : gpu.instances) all.push_back(content(instance));
  std::ranges::sort(all);
  return all;
}

}  // namespace

layout::Gpu TwoOpinions::as_layout(const std::vector<bool>& pinned) const {
  layout::Gpu gpu;
  gpu.uuid = engine_->spec().gpus[0].uuid;
  gpu.board = board_;
  gpu.mode = layout::MigMode{true, true};
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    const Placed& placed = instances_[i];
    const catalog::Profile& kind = board_->profiles[static_cast<std::size_t>(placed.profile)];
    const GpuInstanceState state = instance_at(placed);
    layout::GpuInstance instance{state.id, placed.profile, {state.start, state.size}, {}, {}};
    for (const emulator::ComputeInstanceState& compute : state.compute) {
      const auto found = std::ranges::find(kind.compute, compute.profile, &catalog::ComputeProfile::nvml_profile);
      instance.compute.push_back({compute.id,
                                  static_cast<int>(found - kind.compute.begin()),
                                  {compute.start, compute.size},
                                  compute.uuid,
                                  std::nullopt});
    }
    if (i < pinned.size() && pinned[i]) instance.pins.push_back({layout::Pin::Reason::busy, "pid 1 (test)"});
    gpu.instances.push_back(std::move(instance));
  }
  return gpu;
}

std::vector<int> TwoOpinions::compute_of(std::size_t which) const {
  std::vector<int> indices;
  const layout::Gpu gpu = as_layout({});
  for (const layout::ComputeInstance& compute : gpu.instances[which].compute) indices.push_back(compute.profile);
  std::ranges::sort(indices);
  return indices;
}

std::string TwoOpinions::step(const plan::Step& step) {
  const Placed placed{step.profile, step.start};
  const catalog::Profile& kind = board_->profiles[static_cast<std::size_t>(step.profile)];
  const auto compute_profile = [&] { return kind.compute[static_cast<std::size_t>(step.compute)].nvml_profile; };
  NvmlReturn answer = kNotFound;
  switch (step.kind) {
    case plan::Step::Kind::create_gpu_instance: {
      GpuInstanceState made;
      answer = engine_->create_gpu_instance(0, id_of(step.profile), step.start, made);
      if (answer == kSuccess) instances_ = with(instances_, placed);
      break;
    }
    case plan::Step::Kind::destroy_gpu_instance: {
      const GpuInstanceState state = instance_at(placed);
      answer = engine_->destroy_gpu_instance(0, state.id, state.serial);
      if (answer == kSuccess) std::erase(instances_, placed);
      break;
    }
    case plan::Step::Kind::create_compute: {
      const GpuInstanceState state = instance_at(placed);
      emulator::ComputeInstanceState made;
      answer = engine_->create_compute_instance(0, state.id, state.serial, compute_profile(), step.compute_start, made);
      break;
    }
    case plan::Step::Kind::destroy_compute: {
      const GpuInstanceState state = instance_at(placed);
      for (const emulator::ComputeInstanceState& compute : state.compute)
        if (compute.start == step.compute_start && compute.profile == compute_profile())
          answer = engine_->destroy_compute_instance(0, state.id, state.serial, compute.id, compute.serial);
      break;
    }
  }
  if (answer != kSuccess)
    return fmt::format("the driver answers {} to a planned step at {}", emulator::nvml_return_name(answer),
                       layout::name_at(*board_, step.profile, step.start));
  return compare_state();
}

std::string TwoOpinions::steps(std::span<const plan::Step> steps) {
  for (const plan::Step& one : steps)
    if (std::string wrong = step(one); !wrong.empty()) return wrong;
  return "";
}

std::string TwoOpinions::follow_plan(Random& random, const std::vector<layout::WantedInstance>& wanted,
                                     const std::vector<bool>& pinned) {
  const layout::Gpu before = as_layout(pinned);
  history_ += "  plan for";
  for (const layout::WantedInstance& want : wanted)
    history_ += " " + board_->profiles[static_cast<std::size_t>(want.profile)].name;
  history_ += fmt::format(" beside {} pinned\n", std::ranges::count(pinned, true));
  const Result<plan::GpuPlan> plan = plan::transition(before, *geometry_, wanted);
  if (!plan) return "the planner finds no way to a layout that exists: " + plan.error().message;
  const int counted =
      plan->gpu_instances_destroyed + plan->gpu_instances_created + plan->compute_destroyed + plan->compute_created;
  if (static_cast<std::size_t>(counted) != plan->steps.size()) return "the plan counts other steps than it has";

  const std::span<const plan::Step> part =
      std::span(plan->steps).first(static_cast<std::size_t>(pick(random, 0, counted)));
  if (std::string wrong = steps(part); !wrong.empty()) return wrong;
  if (std::string wrong = steps(plan::undo(part)); !wrong.empty()) return "on the way back: " + wrong;
  if (contents(as_layout(pinned)) != contents(before)) return "there and back again is not the old layout";

  if (std::string wrong = steps(plan->steps); !wrong.empty()) return wrong;
  if (instances_ != plan->result) return "the plan's steps do not lead to its result";
  return compare_with_target(before, wanted);
}

std::string TwoOpinions::compare_with_target(const layout::Gpu& before,
                                             const std::vector<layout::WantedInstance>& wanted) const {
  const Contents now = contents(as_layout({}));
  for (const layout::GpuInstance& old : before.instances)
    if (old.pinned() && std::ranges::find(now, content(old)) == now.end()) return "the plan touched a pinned instance";
  std::vector<std::pair<int, std::vector<int>>> have, want;
  for (std::size_t i = 0; i < instances_.size(); ++i) have.emplace_back(instances_[i].profile, compute_of(i));
  for (const layout::WantedInstance& item : wanted) want.emplace_back(item.profile, item.compute);
  std::ranges::sort(have);
  std::ranges::sort(want);
  return have == want ? "" : "the plan leads to other instances than wanted";
}

}  // namespace partita::agreement
