// What NVML tells of a PCI address.
#pragma once

#include "emulator/abi/nvml_types.h"
#include "emulator/engine/pci_address.h"
#include "emulator/engine/spec.h"

namespace partita::emulator::abi {

nvmlPciInfo_t pci_info(const PciAddress& address, unsigned device_id, unsigned subsystem_id);
nvmlPciInfo_t pci_info(const GpuSpec& gpu);

}  // namespace partita::emulator::abi
