// A PCI address in the forms that NVML's clients write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "emulator/abi/nvml_types.h"
#include "emulator/engine/spec.h"

namespace partita::emulator::abi {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  auto operator<=>(const PciAddress&) const = default;
};

// "00000000:07:00.0", "0000:07:00.0", "07:00.0", "7:0"; hexadecimal, any case.
std::optional<PciAddress> parse_pci_address(std::string_view text);

PciInfo pci_info(const PciAddress& address, unsigned device_id, unsigned subsystem_id);
PciInfo pci_info(const GpuSpec& gpu);

}  // namespace partita::emulator::abi
