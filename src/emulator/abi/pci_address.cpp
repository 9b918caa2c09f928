#include "emulator/abi/pci_address.h"

#include <charconv>
#include <cstdio>

namespace partita::emulator::abi {

namespace {

bool take_hex(std::string_view text, unsigned limit, unsigned& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return !text.empty() && result.ec == std::errc{} && result.ptr == text.data() + text.size() && value <= limit;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  PciAddress address;
  if (const auto dot = text.rfind('.'); dot != std::string_view::npos) {
    if (!take_hex(text.substr(dot + 1), 7, address.function)) return std::nullopt;
    text = text.substr(0, dot);
  }
  const auto last = text.rfind(':');
  if (last == std::string_view::npos || !take_hex(text.substr(last + 1), 31, address.device)) return std::nullopt;
  text = text.substr(0, last);
  if (const auto first = text.find(':'); first != std::string_view::npos) {
    if (!take_hex(text.substr(0, first), 0xffffffff, address.domain)) return std::nullopt;
    text = text.substr(first + 1);
  }
  if (!take_hex(text, 255, address.bus)) return std::nullopt;
  return address;
}

PciInfo pci_info(const PciAddress& a, unsigned device_id, unsigned subsystem_id) {
  PciInfo info{};
  info.domain = a.domain, info.bus = a.bus, info.device = a.device;
  info.pci_device_id = device_id, info.pci_subsystem_id = subsystem_id;
  std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%04X:%02X:%02X.0", a.domain & 0xffff, a.bus & 0xff,
                a.device & 0x1f);
  std::snprintf(info.bus_id, sizeof info.bus_id, "%08X:%02X:%02X.0", a.domain, a.bus & 0xff, a.device & 0x1f);
  return info;
}

PciInfo pci_info(const GpuSpec& gpu) {
  return pci_info(parse_pci_address(gpu.pci_bus_id).value_or(PciAddress{}), gpu.pci_device_id, gpu.pci_subsystem_id);
}

}  // namespace partita::emulator::abi
