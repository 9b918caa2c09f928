#include <charconv>
#include <cstdio>

#include "emulator/programs/mig.h"

namespace partita::emulator::programs {

namespace {

// The name column became wider between 550 (narrow in what we have seen) and 570.
bool wide_lists() {
  const std::string version = ask_text<"nvmlSystemGetDriverVersion">().value_or("");
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major > 550;
}

int print_or(const std::string& text, const char* nothing) {
  std::fputs(text.empty() ? nothing : text.c_str(), stdout);
  return text.empty() ? static_cast<int>(driver::kNvmlNotFound) : 0;
}

constexpr const char *kNoGpuInstances = "No GPU instances found: Not Found\n",
                     *kNoComputeInstances = "No compute instances found: Not Found\n";

int run(std::span<const Gpu> gpus, const Arguments& arguments) {
  switch (arguments.action) {
    case Action::gpu_profiles:
      return print_or(draw_gpu_profiles(gpus, wide_lists()), "");
    case Action::gpu_placements:
      return print_or(draw_gpu_placements(gpus), "");
    case Action::gpu_instances:
      return print_or(draw_gpu_instances(gpus, arguments, wide_lists()), kNoGpuInstances);
    case Action::compute_profiles:
      return print_or(draw_compute_profiles(gpus, arguments), kNoGpuInstances);
    case Action::compute_placements:
      return print_or(draw_compute_placements(gpus, arguments), kNoGpuInstances);
    case Action::compute_instances:
      return print_or(draw_compute_instances(gpus, arguments), kNoComputeInstances);
    case Action::create_gpu:
      return create_gpu_instances(gpus, arguments);
    case Action::create_compute:
      return create_compute_instances(gpus, arguments);
    case Action::destroy_gpu:
      return destroy_gpu_instances(gpus, arguments);
    case Action::destroy_compute:
      return destroy_compute_instances(gpus, arguments);
    default:
      std::fputs(std::string(mig_help_text()).c_str(), stdout);
      return 0;
  }
}

}  // namespace

int run_mig(const Arguments& arguments) {
  const auto chosen = choose_gpus(arguments.gpus);
  if (!chosen) return driver::kNvmlNotFound;
  const bool tables = arguments.action == Action::gpu_profiles || arguments.action == Action::gpu_placements;
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : chosen->gpus)
    if (const auto mode = mig_mode(gpu); mode && (mode->current || tables)) gpus.push_back(gpu);
  if (gpus.empty()) {
    std::puts(tables ? "No MIG-supported devices found." : "No MIG-enabled devices found.");
    return driver::kNvmlNotFound;
  }
  const int status = run(gpus, arguments);
  return status != 0 ? status : exit_status_of(chosen->answer);
}

}  // namespace partita::emulator::programs
