#include "emulator/abi/pci_info.h"

#include <cstdio>

namespace partita::emulator::abi {

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
