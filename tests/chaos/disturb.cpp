#include "disturb.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace partita::chaos {
namespace {

struct Kind {
  const char* function;
  int nvml_return;
};
constexpr int kInUse = 19, kInsufficientResources = 23, kUnknown = 999;
constexpr std::array<Kind, 8> kFaults = {{{"nvmlDeviceCreateGpuInstanceWithPlacement", kInsufficientResources},
                                          {"nvmlDeviceCreateGpuInstanceWithPlacement", kUnknown},
                                          {"nvmlGpuInstanceDestroy", kInUse},
                                          {"nvmlGpuInstanceDestroy", kUnknown},
                                          {"nvmlComputeInstanceDestroy", kInUse},
                                          {"nvmlGpuInstanceCreateComputeInstanceWithPlacement", kInsufficientResources},
                                          {"nvmlGpuInstanceCreateComputeInstance", kUnknown},
                                          {"nvmlDeviceSetMigMode", kInUse}}};

}  // namespace

void Disturber::add_fault() {
  const Kind& kind = kFaults[static_cast<std::size_t>(holders_.draw(kFaults.size()))];
  const auto added = emulator::add_fault(
      world_.emulated.name, {.function = kind.function, .calls = 1 + holders_.draw(3), .answer = kind.nvml_return});
  if (!added) return;  // there are enough of them
  ++counts_["faults"];
  holders_.set_faults(true);
}

void Disturber::clear_faults() {
  node::value(emulator::clear_faults(world_.emulated.name));
  holders_.set_faults(false);
}

void Disturber::lose_or_find_gpu() {
  const int gpu = holders_.draw(evidence_.gpus());
  const bool lose = lost_.empty();
  const int which = lose ? gpu : *lost_.begin();
  node::value(emulator::set_condition(world_.emulated.name, std::to_string(which),
                                      lose ? emulator::Condition::lost : emulator::Condition::good));
  if (!lose) {
    lost_.erase(which);
    return;
  }
  ++counts_["lost GPUs"];
  lost_.insert(which);
  for (auto& [name, promise] : holders_.promises()) promise.lost.insert(which);
}

void Disturber::find_all_gpus() {
  while (!lost_.empty()) lose_or_find_gpu();
}

void Disturber::foreign() {
  if (foreign_.size() > 3 || (!foreign_.empty() && holders_.chance(50)))
    remove_foreign();
  else
    make_foreign();
}

void Disturber::make_foreign() {
  emulator::Engine& engine = evidence_.engine();
  const int gpu = holders_.draw(evidence_.gpus());
  const emulator::GpuSpec& spec = engine.spec().gpus[static_cast<std::size_t>(gpu)];
  const emulator::ProfileSpec& profile =
      spec.profiles[static_cast<std::size_t>(holders_.draw(static_cast<int>(spec.profiles.size())))];
  emulator::GpuInstanceState made;
  if (engine.create_gpu_instance(gpu, profile.id, std::nullopt, made) != emulator::kSuccess) return;
  foreign_.insert(made.serial);
  ++counts_["foreign instances"];
}

void Disturber::remove_foreign() {
  for (const Seen& seen : evidence_.instances()) {
    if (!foreign_.contains(seen.serial)) continue;
    if (evidence_.engine().destroy_gpu_instance(seen.gpu, seen.id, seen.serial) == emulator::kSuccess)
      foreign_.erase(seen.serial);
    return;
  }
}

void Disturber::reboot(bool machine) {
  if (machine) {
    holders_.end_all_processes();
    std::error_code ignored;
    std::filesystem::remove_all(world_.options.cdi_folder, ignored);
  }
  node::value(emulator::reboot(world_.emulated.name));
  ++counts_[machine ? "reboots" : "driver reloads"];
  foreign_.clear();
  lost_.clear();
  for (auto& [name, promise] : holders_.promises()) {
    promise.rebooted = true;
    promise.serial = 0;
  }
}

}  // namespace partita::chaos
