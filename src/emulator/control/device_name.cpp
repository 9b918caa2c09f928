#include "emulator/control/device_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/process.h"
#include "base/text.h"
#include "base/units.h"
#include "emulator/control/bus_id.h"

namespace partita::emulator {

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.front() == '-' || status != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::unexpected<Error> no_such_device(const Engine& engine, std::string_view text, std::string_view why) {
  return fail(ErrorCode::not_found,
              fmt::format("emulated node {} has no device {}: {}", engine.spec().name, quote(text), why));
}

// MIG devices of a GPU in the order of their MIG index: by GPU instance id, then compute instance id.
std::vector<DeviceAt> mig_devices(int gpu, const GpuState& state) {
  std::vector<DeviceAt> devices;
  for (const GpuInstanceState& instance : state.instances)
    for (const ComputeInstanceState& compute : instance.compute) devices.push_back({gpu, instance.id, compute.id});
  std::ranges::sort(devices, {}, [](const DeviceAt& d) { return std::pair(d.gpu_instance, d.compute_instance); });
  return devices;
}

Result<DeviceAt> by_old_uuid(const Engine& engine, std::string_view text) {
  const std::vector<std::string> parts = split(text.substr(4), '/');
  const std::optional<int> gi = parts.size() == 3 ? number(parts[1]) : std::nullopt;
  const std::optional<int> ci = parts.size() == 3 ? number(parts[2]) : std::nullopt;
  if (!gi || !ci) return no_such_device(engine, text, "expected MIG-GPU-<uuid>/<gpu instance>/<compute instance>");
  const int gpu = TRY(find_gpu(engine.spec(), parts[0]));
  for (const DeviceAt& device : mig_devices(gpu, engine.gpu(gpu)))
    if (device.gpu_instance == *gi && device.compute_instance == *ci) return device;
  return no_such_device(engine, text, fmt::format("GPU {} has no such MIG device now", gpu));
}

Result<DeviceAt> by_uuid(const Engine& engine, std::string_view text) {
  const std::string wanted = lower(text);
  for (int gpu = 0; gpu < static_cast<int>(engine.spec().gpus.size()); ++gpu)
    for (const GpuState state = engine.gpu(gpu); const GpuInstanceState& instance : state.instances)
      for (const ComputeInstanceState& compute : instance.compute)
        if (lower(compute.uuid) == wanted) return DeviceAt{gpu, instance.id, compute.id};
  return no_such_device(engine, text, "no MIG device has this UUID now");
}

Result<DeviceAt> by_index(const Engine& engine, std::string_view text, std::size_t colon) {
  const int gpu = TRY(find_gpu(engine.spec(), text.substr(0, colon)));
  const std::vector<DeviceAt> devices = mig_devices(gpu, engine.gpu(gpu));
  const std::optional<int> index = number(text.substr(colon + 1));
  if (index && static_cast<std::size_t>(*index) < devices.size()) return devices[static_cast<std::size_t>(*index)];
  return no_such_device(engine, text, fmt::format("GPU {} has {} now", gpu, count_of(devices.size(), "MIG device")));
}

std::string process_text(pid_t pid) {
  const std::string name = process_name(pid);
  return name.empty() ? fmt::format("pid {}", pid) : fmt::format("pid {} ({})", pid, name);
}

const ProfileSpec* profile_of(const GpuSpec& gpu, const GpuInstanceState& instance) {
  const auto found = std::ranges::find(gpu.profiles, instance.profile, &ProfileSpec::nvml_profile);
  return found == gpu.profiles.end() ? nullptr : &*found;
}

}  // namespace

Result<int> find_gpu(const NodeSpec& node, std::string_view text) {
  const std::optional<int> index = number(text);
  const std::optional<std::string> bus_id = normal_bus_id(text);
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuSpec& gpu = node.gpus[i];
    if ((index && static_cast<std::size_t>(*index) == i) || lower(gpu.uuid) == lower(text) ||
        (bus_id && lower(gpu.pci_bus_id) == lower(*bus_id)))
      return static_cast<int>(i);
  }
  const std::string range =
      node.gpus.size() == 1 ? "index 0" : fmt::format("an index from 0 to {}", node.gpus.size() - 1);
  std::vector<std::string> known;
  for (std::size_t i = 0; i < node.gpus.size(); ++i)
    known.push_back(
        fmt::format("GPU {}: {} {} {}", i, node.gpus[i].pci_bus_id, node.gpus[i].uuid, node.gpus[i].product));
  return fail(
      ErrorCode::not_found,
      fmt::format("emulated node {} has no GPU {}; expected {}, a UUID or a PCI bus id", node.name, quote(text), range),
      std::move(known));
}

Result<DeviceAt> find_device(const Engine& engine, std::string_view text) {
  if (text.starts_with("MIG-GPU-")) return by_old_uuid(engine, text);
  if (text.starts_with("MIG-")) return by_uuid(engine, text);
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && !normal_bus_id(text)) return by_index(engine, text, colon);
  return DeviceAt{.gpu = TRY(find_gpu(engine.spec(), text))};
}

std::optional<std::uint64_t> free_memory(const Engine& engine, const DeviceAt& device) {
  const GpuSpec& gpu = engine.spec().gpus[static_cast<std::size_t>(device.gpu)];
  const GpuState state = engine.gpu(device.gpu);
  std::uint64_t total_mib = gpu.memory_mib, used = 0;
  for (const GpuInstanceState& instance : state.instances)
    if (const ProfileSpec* profile = profile_of(gpu, instance); instance.id == device.gpu_instance && profile)
      total_mib = profile->memory_mib;
  for (const HolderState& holder : state.holders)
    if (!device.gpu_instance || holder.gpu_instance == device.gpu_instance) used += holder.memory_bytes;
  if (total_mib == 0) return std::nullopt;
  const std::uint64_t total = mib(total_mib).value;
  return total > used ? total - used : 0;
}

std::string describe(const Engine& engine, const DeviceAt& device) {
  if (!device.gpu_instance) return fmt::format("GPU {}", device.gpu);
  std::string profile = "MIG device";
  const GpuSpec& gpu = engine.spec().gpus[static_cast<std::size_t>(device.gpu)];
  for (const GpuState state = engine.gpu(device.gpu); const GpuInstanceState& instance : state.instances)
    if (const ProfileSpec* spec = profile_of(gpu, instance); instance.id == device.gpu_instance && spec)
      profile = fmt::format("MIG device of {}@{}", spec->name, instance.start);
  return fmt::format("GPU {}, {} (GPU instance {}, compute instance {})", device.gpu, profile, *device.gpu_instance,
                     device.compute_instance.value_or(0));
}

std::vector<std::string> holders(const Engine& engine, const std::vector<int>& gpus) {
  std::vector<std::string> lines;
  for (const int gpu : gpus)
    for (const GpuState state = engine.gpu(gpu); const HolderState& holder : state.holders)
      lines.push_back(fmt::format("{}: {}, {}", describe(engine, {gpu, holder.gpu_instance, holder.compute_instance}),
                                  process_text(holder.pid), to_string(Bytes{holder.memory_bytes})));
  return lines;
}

}  // namespace partita::emulator
