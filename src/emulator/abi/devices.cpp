// Counting and finding GPUs and MIG devices.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "emulator/abi/guard.h"
#include "emulator/abi/pci_info.h"
#include "emulator/engine/uuid.h"

using namespace partita::emulator::abi;
using namespace partita::emulator;

namespace {

Return device_count(const char* function, unsigned* count) noexcept {
  return guarded(function, -1, [&](Engine& engine) -> Return {
    if (count == nullptr) return kInvalidArgument;
    *count = static_cast<unsigned>(engine.spec().gpus.size());
    return kSuccess;
  });
}

Return give_gpu(const Engine& engine, int gpu, nvmlDevice_t* device) {
  if (engine.summary(gpu).lost != 0) return kGpuIsLost;
  *device = gpu_handle(gpu);
  return kSuccess;
}

Return handle_by_index(const char* function, unsigned index, nvmlDevice_t* device) noexcept {
  return guarded(function, static_cast<int>(index & 0xff), [&](Engine& engine) -> Return {
    if (device == nullptr || index >= engine.spec().gpus.size()) return kInvalidArgument;
    return give_gpu(engine, static_cast<int>(index), device);
  });
}

template <class Matches>
Return first_gpu(const Engine& engine, nvmlDevice_t* device, Matches matches) {
  for (std::size_t i = 0; i < engine.spec().gpus.size(); ++i) {
    if (matches(engine.spec().gpus[i])) return give_gpu(engine, static_cast<int>(i), device);
  }
  return kNotFound;
}

Return handle_by_pci(const char* function, const char* bus_id, nvmlDevice_t* device) noexcept {
  return guarded(function, -1, [&](Engine& engine) -> Return {
    if (bus_id == nullptr || device == nullptr) return kInvalidArgument;
    const auto wanted = parse_pci_address(bus_id);
    if (!wanted) return kInvalidArgument;
    return first_gpu(engine, device, [&](const GpuSpec& gpu) { return parse_pci_address(gpu.pci_bus_id) == wanted; });
  });
}

// The first compute instance that `matches`, over all GPUs, as a MIG device.
template <class Matches>
Return first_mig_device(const Engine& engine, nvmlDevice_t* device, Matches matches) {
  GpuSnapshot room;
  GpuRecord& record = room.record;
  for (int gpu = 0; has_gpu(engine, gpu); ++gpu) {
    engine.snapshot(gpu, record);
    for (std::size_t i = 0; i < record.instance_count; ++i) {
      const InstanceRecord& instance = record.instances[i];
      for (std::size_t c = 0; c < instance.compute_count; ++c) {
        const ComputeRecord& compute = instance.compute[c];
        if (!matches(gpu, instance, compute)) continue;
        *device = pack({HandleKind::mig_device, gpu, instance.id, compute.id, compute.serial});
        return kSuccess;
      }
    }
  }
  return kNotFound;
}

// "<gpu uuid>/<gi>/<ci>", the form before R470.
Return by_old_mig_name(const Engine& engine, std::string_view name, nvmlDevice_t* device) {
  const auto second = name.rfind('/');
  const auto first = second == 0 || second == std::string_view::npos ? second : name.rfind('/', second - 1);
  if (first == std::string_view::npos || first == second) return kNotFound;
  const std::string_view gi_text = name.substr(first + 1, second - first - 1), ci_text = name.substr(second + 1);
  int gi = -1, ci = -1;
  std::from_chars(gi_text.data(), gi_text.data() + gi_text.size(), gi);
  std::from_chars(ci_text.data(), ci_text.data() + ci_text.size(), ci);
  const std::string_view gpu_uuid = name.substr(0, first);
  return first_mig_device(engine, device, [&](int gpu, const InstanceRecord& instance, const ComputeRecord& compute) {
    return engine.spec().gpus[static_cast<std::size_t>(gpu)].uuid == gpu_uuid && instance.id == gi && compute.id == ci;
  });
}

// GPUs and MIG devices, the latter by both of their names.
Return by_uuid(const Engine& engine, std::string_view name, nvmlDevice_t* device) {
  if (!name.starts_with("MIG-")) {
    return first_gpu(engine, device, [&](const GpuSpec& gpu) { return gpu.uuid == name; });
  }
  name.remove_prefix(4);
  if (name.starts_with("GPU-")) return by_old_mig_name(engine, name, device);
  const auto wanted = parse_uuid(name);
  if (!wanted) return kNotFound;
  return first_mig_device(engine, device, [&](int, const InstanceRecord&, const ComputeRecord& compute) {
    return compute.uuid == *wanted;
  });
}

}  // namespace

NVML_EXPORT nvmlDeviceGetCount(unsigned* count) { return device_count(__func__, count); }
NVML_EXPORT nvmlDeviceGetCount_v2(unsigned* count) { return device_count(__func__, count); }

NVML_EXPORT nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return handle_by_index(__func__, index, device);
}
NVML_EXPORT nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return handle_by_index(__func__, index, device);
}

NVML_EXPORT nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* device) {
  return handle_by_pci(__func__, bus_id, device);
}
NVML_EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* device) {
  return handle_by_pci(__func__, bus_id, device);
}

NVML_EXPORT nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (serial == nullptr || device == nullptr || *serial == '\0') return kInvalidArgument;
    return first_gpu(engine, device, [&](const GpuSpec& gpu) { return gpu.serial == serial; });
  });
}

NVML_EXPORT nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    return uuid == nullptr || device == nullptr ? Return{kInvalidArgument} : by_uuid(engine, uuid, device);
  });
}

// In words as above, or as sixteen bytes.
NVML_EXPORT nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  return guarded(__func__, -1, [&](Engine& engine) -> Return {
    if (uuid == nullptr || device == nullptr) return kInvalidArgument;
    if (uuid->version != nvmlUUID_v1) return kVersionMismatch;
    if (uuid->type == NVML_UUID_TYPE_BINARY) {
      std::array<std::uint8_t, 16> bytes;
      std::copy_n(uuid->value.bytes, bytes.size(), bytes.begin());
      const std::string text = to_text(bytes);
      const Return answer = by_uuid(engine, "GPU-" + text, device);
      return answer == kNotFound ? by_uuid(engine, "MIG-" + text, device) : answer;
    }
    if (uuid->type != NVML_UUID_TYPE_ASCII) return kInvalidArgument;
    const std::string_view text(uuid->value.str, ::strnlen(uuid->value.str, sizeof uuid->value.str));
    return by_uuid(engine, text, device);
  });
}
