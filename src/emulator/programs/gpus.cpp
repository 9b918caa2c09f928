#include "emulator/programs/gpus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "emulator/engine/engine.h"

namespace partita::emulator::programs {

namespace {

bool is_named(const std::string& name, unsigned index, NvmlDevice device, const driver::NvmlPciInfo& pci) {
  const std::string wanted = lower(name);
  std::string bus_id = lower(pci.bus_id);
  if (wanted == std::to_string(index) || wanted == bus_id || wanted == bus_id.substr(4) || wanted == bus_id.substr(9))
    return true;
  const auto uuid = ask_text<"nvmlDeviceGetUUID">(device), serial = ask_text<"nvmlDeviceGetSerial">(device);
  return (uuid && lower(*uuid) == wanted) || (serial && lower(*serial) == wanted);
}

// "0000:3B:00.0", from the state of the node: the library says nothing of a GPU that is lost.
std::string bus_id_of(unsigned index) {
  constexpr std::size_t kWiderDomain = 4;  // digits that only NVML's spelling has
  const char* node = std::getenv("PARTITA_EMULATED_NODE");
  const auto engine = Engine::open(node != nullptr ? node : "");
  if (!engine || index >= engine->spec().gpus.size()) return "";
  const std::string& id = engine->spec().gpus[index].pci_bus_id;
  return id.size() > kWiderDomain ? id.substr(kWiderDomain) : id;
}

}  // namespace

std::expected<void, NoDriver> open_nvml() {
  if (nvml_library() == nullptr)
    return std::unexpected(NoDriver{"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", 12});
  const int answer = call<"nvmlInit_v2">();
  if (answer == driver::kNvmlSuccess) return {};
  if (answer == driver::kNvmlDriverNotLoaded)
    return std::unexpected(
        NoDriver{"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the "
                 "latest NVIDIA driver is installed and running.\n",
                 9});
  if (answer == driver::kNvmlLibRmVersionMismatch)
    return std::unexpected(NoDriver{"Failed to initialize NVML: Driver/library version mismatch", 18});
  return std::unexpected(NoDriver{"Failed to initialize NVML: " + error_text(answer), exit_status_of(answer)});
}

std::optional<Chosen> choose_gpus(const std::vector<std::string>& names) {
  Chosen chosen;
  std::vector<bool> found(names.size());
  const unsigned count = ask<"nvmlDeviceGetCount_v2", unsigned>().value_or(0);
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice device{};
    int answer = call<"nvmlDeviceGetHandleByIndex_v2">(index, &device);
    driver::NvmlPciInfo pci{};
    if (answer == driver::kNvmlSuccess) answer = call<"nvmlDeviceGetPciInfo_v3">(device, &pci);
    bool wanted = names.empty();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (device != nullptr && is_named(names[i], index, device, pci)) wanted = found[i] = true;
    if (answer != driver::kNvmlSuccess) {
      // A GPU that cannot be asked may be one of those named: by its index at least.
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == std::to_string(index)) wanted = found[i] = true;
      if (!wanted) continue;
      std::printf("Unable to determine the device handle for GPU%u: %s: %s%s\n", index, bus_id_of(index).c_str(),
                  error_text(answer).c_str(),
                  answer == driver::kNvmlGpuIsLost ? ".  Reboot the system to recover this GPU" : "");
      chosen.answer = answer;
      continue;
    }
    if (wanted) chosen.gpus.push_back({index, device, pci.bus_id});
  }
  if (std::ranges::find(found, false) == found.end()) return chosen;
  std::puts("No devices were found");
  return std::nullopt;
}

std::vector<MigDevice> mig_devices(const Gpu& gpu) {
  std::vector<MigDevice> devices;
  const unsigned most = ask<"nvmlDeviceGetMaxMigDeviceCount", unsigned>(gpu.device).value_or(0);
  for (unsigned index = 0; index < most; ++index)
    if (const auto device = ask<"nvmlDeviceGetMigDeviceHandleByIndex", NvmlDevice>(gpu.device, index))
      devices.push_back({index, *device});
  return devices;
}

std::optional<MigMode> mig_mode(const Gpu& gpu) {
  unsigned current = 0, pending = 0;
  if (call<"nvmlDeviceGetMigMode">(gpu.device, &current, &pending) != driver::kNvmlSuccess) return std::nullopt;
  return MigMode{current != 0, pending != 0};
}

}  // namespace partita::emulator::programs
