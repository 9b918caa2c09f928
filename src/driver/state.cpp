// Reading one GPU and the node.
#include <fmt/core.h>

#include <optional>

#include "driver/driver.h"
#include "driver/errors.h"
#include "driver/session.h"

namespace partita::driver {
namespace {

// Answers that only mean "this GPU, or this user, does not get that reading".
bool merely_absent(int answer) {
  return answer == kNvmlNotSupported || answer == kNvmlNoPermission || answer == kNvmlFunctionNotFound;
}

std::string fault_text(const NvmlRefusal& refusal) {
  switch (refusal.nvml_return) {
    case kNvmlGpuIsLost:
      return "lost";
    case kNvmlResetRequired:
      return "reset required";
    default:
      return fmt::format("{} answered {}", refusal.function, nvml_return_text(refusal.nvml_return));
  }
}

// Does a mode change of this GPU need a reset? Asked only where the catalog does not know the board.
bool needs_reset(const NvmlTable& nvml, NvmlDevice device) {
  if (nvml.device_fields) {
    NvmlFieldValue resetless{};
    resetless.field = kNvmlFieldResetless;
    if (nvml.device_fields(device, 1, &resetless) == kNvmlSuccess && resetless.nvml_return == kNvmlSuccess) {
      return resetless.value.u32 == 0;
    }
  }
  int major = 0, minor = 0;
  const bool known =
      nvml.device_compute_capability && nvml.device_compute_capability(device, &major, &minor) == kNvmlSuccess;
  return !known || major < 9;  // Ampere needs one, Hopper and later do not
}

// Reads a GPU part by part; stops at the first fault.
class GpuReader {
 public:
  GpuReader(Session& session, NvmlDevice device, int index)
      : session_(session), nvml_(session.nvml()), device_(device) {
    gpu_.index = index;
  }

  layout::Gpu read() {
    if (identity() && board() && readings() && mode() && processes() && instances()) {
      gpu_.nvlink_peers = read_nvlink_peers(nvml_, device_);
    }
    return std::move(gpu_);
  }

 private:
  bool fault(const NvmlRefusal& refusal) {
    gpu_.fault = fault_text(refusal);
    return false;
  }

  bool identity() {
    auto uuid = read_text<kNvmlUuidSize>(nvml_.device_uuid, device_);
    if (!uuid) return fault(uuid.error());
    gpu_.uuid = *std::move(uuid);

    NvmlPciInfo pci{};
    if (const int answer = nvml_.device_pci(device_, &pci); answer != kNvmlSuccess) {
      return fault({answer, nvml_.device_pci.name});
    }
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    gpu_.pci_bus_id = pci.bus_id;
    gpu_.pci_device_id = pci.pci_device_id;
    gpu_.pci_subsystem_id = pci.pci_subsystem_id;

    auto name = read_text<kNvmlNameSize>(nvml_.device_name, device_);
    if (!name) return fault(name.error());
    gpu_.product = *std::move(name);
    U32 minor = 0;
    if (nvml_.device_minor(device_, &minor) == kNvmlSuccess) gpu_.minor = static_cast<int>(minor);
    return true;
  }

  bool board() {
    auto found = session_.catalog->board_by_pci(static_cast<std::uint16_t>(gpu_.pci_device_id >> 16));
    if (!found) {
      gpu_.fault = fmt::format("its board data cannot be read: {}", found.error().message);
      return false;
    }
    gpu_.board = *std::move(found);
    return true;
  }

  bool readings() {
    NvmlMemory memory{};
    if (const int answer = nvml_.device_memory(device_, &memory); answer == kNvmlSuccess) {
      gpu_.total_memory = Bytes{memory.total};
      gpu_.used_memory = Bytes{memory.used};
    } else if (!merely_absent(answer)) {
      return fault({answer, nvml_.device_memory.name});
    } else if (gpu_.board) {  // memory shared with the host (GB10), or MIG on and not root
      gpu_.total_memory = gpu_.board->total_memory.value_or(Bytes{});
    }
    NvmlUtilization utilization{};
    if (nvml_.device_utilization && nvml_.device_utilization(device_, &utilization) == kNvmlSuccess) {
      gpu_.utilization_percent = static_cast<int>(utilization.gpu);
    }
    return true;
  }

  bool mode() {
    U32 current = 0, pending = 0;
    const int answer = nvml_.mig_mode(device_, &current, &pending);
    if (answer == kNvmlNotSupported) return true;  // no MIG on this GPU
    if (answer != kNvmlSuccess) return fault({answer, nvml_.mig_mode.name});
    gpu_.mode = layout::MigMode{.current = current != 0, .pending = pending != 0};
    return true;
  }

  bool processes() {
    auto read = read_processes(nvml_, device_);
    if (!read) return fault(read.error());
    gpu_.processes = *std::move(read);
    return true;
  }

  bool instances() {
    if (!gpu_.mode || !gpu_.mode->current) return true;
    if (auto read = read_instances(session_, device_, gpu_); !read) return fault(read.error());
    return true;
  }

  Session& session_;
  const NvmlTable& nvml_;
  NvmlDevice device_;
  layout::Gpu gpu_;
};

Result<std::string> system_text(const NvmlFunction<char*, U32>& function) {
  char text[kNvmlVersionSize] = {};
  if (const int answer = function(text, sizeof text); answer != kNvmlSuccess) {
    return std::unexpected(nvml_error(answer, function.name, ""));
  }
  text[sizeof text - 1] = '\0';
  return std::string(text);
}

}  // namespace

layout::Gpu read_gpu(Session& session, NvmlDevice device, int index) {
  return GpuReader(session, device, index).read();
}

GpuIdentity identity_of(const NvmlTable& nvml, NvmlDevice device, const layout::Gpu& gpu) {
  return {.product = gpu.product,
          .pci_device = static_cast<std::uint16_t>(gpu.pci_device_id >> 16),
          .total_memory = gpu.total_memory,
          .mode_change_needs_reset = gpu.board == nullptr && needs_reset(nvml, device)};
}

Result<layout::NodeState> Driver::state() {
  TRY_VOID(impl_->ready());
  const auto& nvml = impl_->nvml();
  layout::NodeState state;
  state.driver_version = TRY(system_text(nvml.driver_version));
  state.nvml_version = TRY(system_text(nvml.nvml_version));

  U32 count = 0;
  if (const int answer = nvml.device_count(&count); answer != kNvmlSuccess) {
    return std::unexpected(nvml_error(answer, nvml.device_count.name, ""));
  }
  for (U32 index = 0; index < count; ++index) {
    NvmlDevice device = nullptr;
    const int answer = nvml.device_by_index(index, &device);
    if (answer == kNvmlSuccess) {
      state.gpus.push_back(read_gpu(*impl_, device, static_cast<int>(index)));
    } else {
      layout::Gpu gpu;
      gpu.index = static_cast<int>(index);
      gpu.fault = fault_text({answer, nvml.device_by_index.name});
      state.gpus.push_back(std::move(gpu));
    }
  }
  return state;
}

Result<layout::Gpu> Driver::gpu(std::string_view uuid) {
  const NvmlDevice device = TRY(impl_->device(uuid));
  const auto& nvml = impl_->nvml();
  U32 index = 0;
  if (const int answer = nvml.device_index(device, &index); answer != kNvmlSuccess) {
    return std::unexpected(nvml_error(answer, nvml.device_index.name, uuid));
  }
  return read_gpu(*impl_, device, static_cast<int>(index));
}

}  // namespace partita::driver
