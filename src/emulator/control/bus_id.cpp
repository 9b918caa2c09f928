#include "emulator/control/bus_id.h"

#include "emulator/engine/pci_address.h"

namespace partita::emulator {

std::optional<std::string> normal_bus_id(std::string_view text) {
  if (text.find('.') == std::string_view::npos) return std::nullopt;  // "0:1" names a MIG device
  const auto address = parse_pci_address(text);
  return address ? std::optional(to_text(*address)) : std::nullopt;
}

}  // namespace partita::emulator
