// Step by step, by the rules alone: nothing here is shared with the search that made the steps.
#include <fmt/format.h>

#include <algorithm>

#include "plan/compute_fit.h"
#include "plan/transition.h"

namespace partita::plan {

namespace {

using layout::ComputeInstance;
using layout::GpuInstance;

class Replay {
 public:
  Replay(const layout::Gpu& gpu, const Geometry& geometry)
      : board_(*gpu.board), geometry_(geometry), instances_(gpu.instances) {}

  // What is wrong with the step, "" when it was done.
  std::string take(const Step& step) {
    if (step.profile < 0 || step.profile >= static_cast<int>(board_.profiles.size())) return "there is no such profile";
    switch (step.kind) {
      case Step::Kind::create_gpu_instance:
        return create(step);
      case Step::Kind::destroy_gpu_instance:
        return destroy(step);
      case Step::Kind::create_compute:
        return create_compute(step);
      case Step::Kind::destroy_compute:
        return destroy_compute(step);
    }
    return "there is no such kind of step";
  }

  std::vector<GpuInstance> result() {
    std::ranges::sort(instances_, {}, [](const GpuInstance& instance) { return instance.placement.start; });
    return std::move(instances_);
  }

 private:
  const catalog::Profile& profile(const Step& step) const {
    return board_.profiles[static_cast<std::size_t>(step.profile)];
  }

  auto find(const Step& step) {
    return std::ranges::find_if(instances_, [&](const GpuInstance& instance) {
      return instance.profile == step.profile && instance.placement.start == step.start;
    });
  }

  std::string create(const Step& step) {
    std::vector<Placed> after{{step.profile, step.start}};
    for (const auto& instance : instances_) after.push_back({instance.profile, instance.placement.start});
    if (!valid(geometry_, after)) return "the place is taken, not allowed, or a rule of the board forbids one more";
    GpuInstance made;
    made.profile = step.profile;
    made.placement = {step.start, profile(step).placement_size};
    instances_.push_back(std::move(made));
    return "";
  }

  std::string destroy(const Step& step) {
    const auto instance = find(step);
    if (instance == instances_.end()) return "there is no such GPU instance";
    if (!instance->compute.empty()) return "it still holds compute instances";
    instances_.erase(instance);
    return "";
  }

  std::string create_compute(const Step& step) {
    const auto instance = find(step);
    if (instance == instances_.end()) return "there is no such GPU instance";
    std::vector<ComputePlaced> after = compute_placed(instance->compute);
    after.push_back({step.compute, step.compute_start});
    if (!valid_compute(profile(step), after)) return "the GPU instance cannot hold that compute instance there";
    ComputeInstance made;
    made.profile = step.compute;
    made.placement = {step.compute_start, profile(step).compute[static_cast<std::size_t>(step.compute)].placement_size};
    instance->compute.push_back(std::move(made));
    std::ranges::sort(instance->compute, {}, [](const ComputeInstance& ci) { return ci.placement.start; });
    return "";
  }

  std::string destroy_compute(const Step& step) {
    const auto instance = find(step);
    if (instance == instances_.end()) return "there is no such GPU instance";
    const auto erased = std::erase_if(instance->compute, [&](const ComputeInstance& ci) {
      return ci.profile == step.compute && ci.placement.start == step.compute_start;
    });
    return erased == 1 ? "" : "there is no such compute instance";
  }

  const catalog::Board& board_;
  const Geometry& geometry_;
  std::vector<GpuInstance> instances_;
};

std::string_view word(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::create_gpu_instance:
      return "create GPU instance";
    case Step::Kind::destroy_gpu_instance:
      return "destroy GPU instance";
    case Step::Kind::create_compute:
      return "create compute instance";
    case Step::Kind::destroy_compute:
      return "destroy compute instance";
  }
  return "unknown step";
}

Step::Kind opposite(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::create_gpu_instance:
      return Step::Kind::destroy_gpu_instance;
    case Step::Kind::destroy_gpu_instance:
      return Step::Kind::create_gpu_instance;
    case Step::Kind::create_compute:
      return Step::Kind::destroy_compute;
    case Step::Kind::destroy_compute:
      return Step::Kind::create_compute;
  }
  return kind;
}

}  // namespace

Result<std::vector<GpuInstance>> replay(const layout::Gpu& gpu, const Geometry& geometry, std::span<const Step> steps) {
  if (!gpu.board) return fail(ErrorCode::internal, fmt::format("GPU {}: the board is not known", gpu.index));
  Replay state(gpu, geometry);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    if (const auto wrong = state.take(step); !wrong.empty())
      return fail(ErrorCode::internal,
                  fmt::format("GPU {}: step {} of {} ({}, profile {} at {}) is not valid: {}", gpu.index, i + 1,
                              steps.size(), word(step.kind), step.profile, step.start, wrong));
  }
  return state.result();
}

std::vector<Step> undo(std::span<const Step> done) {
  std::vector<Step> steps(done.rbegin(), done.rend());
  for (auto& step : steps) step.kind = opposite(step.kind);
  return steps;
}

}  // namespace partita::plan
