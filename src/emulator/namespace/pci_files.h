// A GPU as the kernel's PCI bus shows it under /sys/bus/pci/devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "emulator/engine/sockets.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

// The class of a GPU without and with a display.
inline constexpr unsigned k3dController = 0x030200, kVgaController = 0x030000;
unsigned pci_class(const GpuSpec& gpu);

// The 256 bytes of `config`: what identifies the device, without capabilities.
std::string config_space(const GpuSpec& gpu);
// `resource`: the registers (16 MiB), the window to the memory, and a third of 32 MiB; addresses made up by `index`.
std::string resource_text(const GpuSpec& gpu, std::size_t index);

// "0-15", as `local_cpulist` says it.
std::string processor_list(const Processors& processors);

// Makes folder/<name> of a GPU with its files and the link to its driver, folder/../drivers/nvidia.
Result<void> write_pci_device(const std::filesystem::path& folder, const NodeSpec& spec, std::size_t index);

}  // namespace partita::emulator
