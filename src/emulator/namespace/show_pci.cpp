#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "emulator/engine/pci_address.h"
#include "emulator/namespace/pci_files.h"
#include "emulator/namespace/places.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

const fs::path kDevices = "/sys/bus/pci/devices", kDrivers = "/sys/bus/pci/drivers";

bool is_nvidia(const fs::path& device) {
  const Result<std::string> vendor = read_file(device / "vendor", 64);
  return vendor && trim(*vendor) == "0x10de";
}

// This machine's devices, as the links that they are: they lead out of the folder, and do so from here, too.
Result<void> copy_devices(const fs::path& to) {
  std::error_code error;
  for (fs::directory_iterator entry(kDevices, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    if (is_nvidia(entry->path()) || !entry->is_symlink(none)) continue;
    fs::copy_symlink(entry->path(), to / entry->path().filename(), none);
    if (none) return cannot_show("make", to / entry->path().filename(), none.value());
  }
  if (error) return cannot_show("read", kDevices, error.value());
  return {};
}

Result<void> bind_drivers(const fs::path& to) {
  std::error_code error;
  for (fs::directory_iterator entry(kDrivers, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (name == "nvidia") continue;
    fs::create_directory(to / name, error);
    if (error) break;
    TRY_VOID(bind(entry->path(), to / name));
  }
  if (error) return cannot_show("read", kDrivers, error.value());
  return {};
}

Result<void> write_driver(const fs::path& folder, const NodeSpec& spec) {
  std::error_code error;
  fs::create_directory(folder, error);
  for (const GpuSpec& gpu : spec.gpus) {
    const std::string name = kernel_bus_id(gpu.pci_bus_id);
    if (!error) fs::create_directory_symlink("../../devices/" + name, folder / name, error);
  }
  if (error) return cannot_show("make", folder, error.value());
  return {};
}

}  // namespace

Result<void> show_pci(const fs::path& scratch, const NodeSpec& spec) {
  const fs::path devices = scratch / "devices", drivers = scratch / "drivers";
  std::error_code error;
  for (const fs::path& folder : {devices, drivers}) {
    fs::create_directory(folder, error);
    if (error) return cannot_show("make", folder, error.value());
  }
  TRY_VOID(copy_devices(devices));
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    fs::remove(devices / kernel_bus_id(spec.gpus[i].pci_bus_id), error);  // this machine has something else there
    TRY_VOID(write_pci_device(devices, spec, i));
  }
  TRY_VOID(bind_drivers(drivers));
  TRY_VOID(write_driver(drivers / "nvidia", spec));
  TRY_VOID(bind(devices, kDevices));
  return bind(drivers, kDrivers);
}

}  // namespace partita::emulator
