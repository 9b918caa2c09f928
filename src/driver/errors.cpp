#include "driver/errors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "driver/nvml_api.h"

namespace partita::driver {
namespace {

struct Row {
  int number;
  std::string_view name;
  std::string_view meaning;  // and what to do
};

constexpr std::array kRows = {
    Row{0, "NVML_SUCCESS", ""},
    Row{1, "NVML_ERROR_UNINITIALIZED", "the library is not initialised"},
    Row{2, "NVML_ERROR_INVALID_ARGUMENT", "the driver does not accept the argument"},
    Row{3, "NVML_ERROR_NOT_SUPPORTED", "not on this GPU, or not while its MIG mode is what it is"},
    Row{4, "NVML_ERROR_NO_PERMISSION",
        "not allowed for this user; run as root, or open the mig/config capability to it"},
    Row{6, "NVML_ERROR_NOT_FOUND", "there is no such object"},
    Row{7, "NVML_ERROR_INSUFFICIENT_SIZE", "the buffer given is too small"},
    Row{8, "NVML_ERROR_INSUFFICIENT_POWER", "a power cable of the GPU is not connected"},
    Row{9, "NVML_ERROR_DRIVER_NOT_LOADED", "the NVIDIA kernel driver is not loaded"},
    Row{10, "NVML_ERROR_TIMEOUT", "the driver did not finish in time; try again"},
    Row{11, "NVML_ERROR_IRQ_ISSUE", "the kernel has an interrupt problem with the GPU; see dmesg"},
    Row{12, "NVML_ERROR_LIBRARY_NOT_FOUND", "a library that the driver needs is missing"},
    Row{13, "NVML_ERROR_FUNCTION_NOT_FOUND", "the driver is too old for this function; update it"},
    Row{14, "NVML_ERROR_CORRUPTED_INFOROM", "the GPU's InfoROM is corrupted"},
    Row{15, "NVML_ERROR_GPU_IS_LOST", "the GPU has fallen off the bus; reset it or reboot"},
    Row{16, "NVML_ERROR_RESET_REQUIRED", "the GPU must be reset first"},
    Row{17, "NVML_ERROR_OPERATING_SYSTEM", "the operating system or a container blocks access to the GPU"},
    Row{18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "library and kernel driver are of different versions"},
    Row{19, "NVML_ERROR_IN_USE", "something still uses it; end that first"},
    Row{20, "NVML_ERROR_MEMORY", "out of memory"},
    Row{21, "NVML_ERROR_NO_DATA", "no data"},
    Row{23, "NVML_ERROR_INSUFFICIENT_RESOURCES", "no room for it at this place; read the state again and plan anew"},
    Row{25, "NVML_ERROR_ARGUMENT_VERSION_MISMATCH", "the driver does not know this form of the argument"},
    Row{26, "NVML_ERROR_DEPRECATED", "the driver no longer has this function"},
    Row{27, "NVML_ERROR_NOT_READY", "the driver is not ready yet; try again"},
    Row{28, "NVML_ERROR_GPU_NOT_FOUND", "there is no such GPU"},
    Row{29, "NVML_ERROR_INVALID_STATE", "not possible in the GPU's present state"},
    Row{999, "NVML_ERROR_UNKNOWN", "the driver failed inside; see dmesg"},
};

const Row* find_row(int number) {
  const auto* row = std::ranges::find(kRows, number, &Row::number);
  return row == kRows.end() ? nullptr : row;
}

ErrorCode code_of(int nvml_return) {
  switch (nvml_return) {
    case kNvmlInUse:
      return ErrorCode::busy;
    case kNvmlInsufficientResources:
      return ErrorCode::no_space;
    case kNvmlNoPermission:
      return ErrorCode::denied;
    default:
      return ErrorCode::driver;
  }
}

}  // namespace

std::string nvml_return_text(int nvml_return) {
  const Row* row = find_row(nvml_return);
  return fmt::format("{} ({})", row != nullptr ? row->name : "NVML_ERROR", nvml_return);
}

Error nvml_error(int nvml_return, const char* function, std::string_view object) {
  const Row* row = find_row(nvml_return);
  std::string message =
      fmt::format("{}{}{} answered {}", object, object.empty() ? "" : ": ", function, nvml_return_text(nvml_return));
  if (row != nullptr && !row->meaning.empty()) message += fmt::format(": {}", row->meaning);
  return Error{code_of(nvml_return), std::move(message), {}};
}

Error init_error(int nvml_return, const char* function) {
  std::string_view what, advice;
  switch (nvml_return) {
    case kNvmlDriverNotLoaded:
      what = "the NVIDIA kernel driver is not loaded";
      advice = "load it (modprobe nvidia) and see dmesg when that fails, or give an emulated node: --emulate dgx-a100";
      break;
    case kNvmlLibRmVersionMismatch:
      what = "the driver's library and its kernel module are of different versions, as after an update";
      advice = "reboot, or unload and load the nvidia kernel modules again";
      break;
    case kNvmlNoPermission:
      what = "this user may not talk to the NVIDIA driver";
      advice = "check who may open /dev/nvidiactl and /dev/nvidia0, or run as root";
      break;
    case kNvmlGpuIsLost:
    case kNvmlResetRequired:
      what = "a GPU is lost or waits for a reset, and the driver refuses to start";
      advice = "reset the GPU or reboot";
      break;
    default: {
      const Row* row = find_row(nvml_return);
      what = row != nullptr && !row->meaning.empty() ? row->meaning : "the driver refused to start";
      advice = "see dmesg, and what nvidia-smi says";
    }
  }
  const auto code = nvml_return == kNvmlNoPermission ? ErrorCode::denied : ErrorCode::unavailable;
  return Error{code, fmt::format("{} ({} answered {}); {}", what, function, nvml_return_text(nvml_return), advice), {}};
}

std::string gpu_text(const layout::Gpu& gpu) {
  return gpu.pci_bus_id.empty() ? fmt::format("GPU {}", gpu.index)
                                : fmt::format("GPU {} ({})", gpu.index, gpu.pci_bus_id);
}

}  // namespace partita::driver
