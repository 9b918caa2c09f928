// A PCI address in the forms that people and NVML's clients write it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace partita::emulator {

struct PciAddress {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  auto operator<=>(const PciAddress&) const = default;
};

// "00000000:07:00.0", "0000:07:00.0", "07:00.0", "7:0"; hexadecimal, any case.
std::optional<PciAddress> parse_pci_address(std::string_view text);

// The driver's spelling: "00000000:0F:00.0".
std::string to_text(const PciAddress& address);

// The kernel's spelling of the driver's: four digits of domain and lower case, "0000:0f:00.0".
std::string kernel_bus_id(std::string_view driver_spelling);

}  // namespace partita::emulator
