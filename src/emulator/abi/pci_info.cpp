#include "emulator/abi/pci_info.h"

#include <cstdio>

namespace partita::emulator::abi {

nvmlPciInfo_t pci_info(const PciAddress& a, unsigned device_id, unsigned subsystem_id) {
  nvmlPciInfo_t info{};
  info.domain = a.domain, info.bus = a.bus, info.device = a.device;
  info.pciDeviceId = device_id, info.pciSubSystemId = subsystem_id;
  std::snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.0", a.domain & 0xffff, a.bus & 0xff,
                a.device & 0x1f);
  std::snprintf(info.busId, sizeof info.busId, "%08X:%02X:%02X.0", a.domain, a.bus & 0xff, a.device & 0x1f);
  return info;
}

nvmlPciInfo_t pci_info(const GpuSpec& gpu) {
  return pci_info(parse_pci_address(gpu.pci_bus_id).value_or(PciAddress{}), gpu.pci_device_id, gpu.pci_subsystem_id);
}

}  // namespace partita::emulator::abi
