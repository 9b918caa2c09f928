#include "emulator/programs/machine.h"

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "emulator/engine/engine.h"

namespace partita::emulator::programs {

namespace {

std::optional<bool> on_or_off(const Arguments& arguments) {
  const std::string word = lower(arguments.values.empty() ? "" : arguments.values.front());
  if (word == "1" || word == "enabled") return true;
  if (word == "0" || word == "disabled") return false;
  std::printf("Option value must be 0 or 1: \"%s\"\n", one_line(word).c_str());
  return std::nullopt;
}

int terminate_early(const char* what, const Gpu& gpu, int answer) {
  std::printf("Unable to %s for GPU %s: %s\nTerminating early due to previous errors.\n", what, gpu.bus_id.c_str(),
              error_text(answer).c_str());
  return exit_status_of(answer);
}

// Without persistence mode, what was set may be gone when nobody looks any more.
void warn_of_persistence(const Gpu& gpu) {
  if (ask<"nvmlDeviceGetPersistenceMode", unsigned>(gpu.device).value_or(1) != 0) return;
  std::printf(
      "\nWarning: persistence mode is disabled on device %s. See the Known Issues section of the nvidia-smi(1) man "
      "page "
      "for more information. Run with [--help | -h] switch to get more information on how to enable persistence "
      "mode.\n",
      gpu.bus_id.c_str());
}

void tell_pending(const Gpu& gpu, bool enabled, int activation) {
  const char* id = gpu.bus_id.c_str();
  std::printf("Warning: MIG mode is in pending %s state for GPU %s:%s\n", enabled ? "enable" : "disable", id,
              error_text(activation).c_str());
  if (activation == driver::kNvmlInUse)
    std::printf(
        "%s is currently being used by one or more other processes (e.g. CUDA application or a monitoring application "
        "such as another instance of nvidia-smi). Please first kill all processes using the device and retry the "
        "command or reboot the system to make MIG mode effective.\n",
        id);
  else
    std::printf("Reboot the system or try nvidia-smi --gpu-reset to make MIG mode effective on GPU %s\n", id);
}

std::string in_use_advice(std::size_t devices) {
  return devices == 1
             ? "\n1 device is currently being used by one or more other processes (e.g., Fabric Manager, CUDA "
               "application, graphics application such as an X server, or a monitoring application such as another "
               "instance of nvidia-smi). Please first kill all processes using this device and all compute "
               "applications running in the system.\n"
             : "\n" + std::to_string(devices) +
                   " devices are currently being used by one or more other processes (e.g., Fabric Manager, CUDA "
                   "application, graphics application such as an X server, or a monitoring application such as another "
                   "instance of nvidia-smi). Please first kill all processes using these devices and all compute "
                   "applications running in the system.\n";
}

int refuse_reset(Engine& engine, const std::vector<Gpu>& gpus, NvmlReturn answer) {
  std::puts("The following GPUs could not be reset:");
  std::size_t told = 0;
  for (const Gpu& gpu : gpus) {
    if (answer == kInUse && engine.gpu(static_cast<int>(gpu.index)).holders.empty()) continue;
    // GPUs that are linked are reset together or not at all: NVIDIA's program says no more about it.
    std::printf("  GPU %s: %s\n", gpu.bus_id.c_str(),
                error_text(answer == kInvalidArgument ? kNotSupported : answer).c_str());
    ++told;
  }
  if (answer == kInUse) std::fputs(in_use_advice(told).c_str(), stdout);
  return answer == kInvalidArgument ? static_cast<int>(kNotSupported) : exit_status_of(answer);
}

}  // namespace

int run_mig_mode(const Arguments& arguments) {
  const auto enabled = on_or_off(arguments);
  if (!enabled) return driver::kNvmlInvalidArgument;
  const auto chosen = choose_gpus(arguments.gpus);
  if (!chosen) return driver::kNvmlNotFound;
  for (const Gpu& gpu : chosen->gpus) {
    int activation = driver::kNvmlSuccess;
    const int answer = call<"nvmlDeviceSetMigMode">(gpu.device, *enabled ? 1U : 0U, &activation);
    if (answer != driver::kNvmlSuccess)
      return terminate_early(*enabled ? "enable MIG Mode" : "disable MIG Mode", gpu, answer);
    const auto mode = mig_mode(gpu);
    if (activation != driver::kNvmlSuccess || (mode && mode->current != mode->pending))
      tell_pending(gpu, *enabled,
                   activation != driver::kNvmlSuccess ? activation : static_cast<int>(driver::kNvmlNotSupported));
    else
      std::printf("%s MIG Mode for GPU %s\n", *enabled ? "Enabled" : "Disabled", gpu.bus_id.c_str());
    warn_of_persistence(gpu);
  }
  std::puts("All done.");
  return exit_status_of(chosen->answer);
}

int run_persistence(const Arguments& arguments) {
  const auto enabled = on_or_off(arguments);
  if (!enabled) return driver::kNvmlInvalidArgument;
  const auto chosen = choose_gpus(arguments.gpus);
  if (!chosen) return driver::kNvmlNotFound;
  for (const Gpu& gpu : chosen->gpus) {
    const unsigned wanted = *enabled ? 1 : 0;
    const char* word = *enabled ? "Enabled" : "Disabled";
    if (ask<"nvmlDeviceGetPersistenceMode", unsigned>(gpu.device) == wanted) {
      std::printf("Persistence mode is already %s for GPU %s.\n", word, gpu.bus_id.c_str());
      continue;
    }
    const int answer = call<"nvmlDeviceSetPersistenceMode">(gpu.device, wanted);
    if (answer != driver::kNvmlSuccess)
      return terminate_early(*enabled ? "enable persistence mode" : "disable persistence mode", gpu, answer);
    std::printf("%s persistence mode for GPU %s.\n", word, gpu.bus_id.c_str());
  }
  std::puts("All done.");
  return exit_status_of(chosen->answer);
}

int run_reset(const Arguments& arguments) {
  const auto chosen = choose_gpus(arguments.gpus);
  if (!chosen) return driver::kNvmlNotFound;
  const char* node = std::getenv("PARTITA_EMULATED_NODE");
  auto engine = Engine::open(node != nullptr ? node : "");
  if (!engine) {
    std::printf("GPU reset is only for emulated nodes: %s\n", engine.error().message.c_str());
    return driver::kNvmlNotSupported;
  }
  std::vector<int> indices;
  for (const Gpu& gpu : chosen->gpus) indices.push_back(static_cast<int>(gpu.index));
  if (const NvmlReturn answer = engine->reset(indices); answer != kSuccess)
    return refuse_reset(*engine, chosen->gpus, answer);
  for (const Gpu& gpu : chosen->gpus) std::printf("GPU %s was successfully reset.\n", gpu.bus_id.c_str());
  std::puts("All done.");
  return exit_status_of(chosen->answer);
}

}  // namespace partita::emulator::programs
