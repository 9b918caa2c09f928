#include "emulator/namespace/pci_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <system_error>

#include "emulator/engine/pci_address.h"
#include "emulator/namespace/mounts.h"

namespace partita::emulator {

namespace {

unsigned vendor(const GpuSpec& gpu) { return gpu.pci_device_id & 0xffff; }
unsigned device(const GpuSpec& gpu) { return gpu.pci_device_id >> 16; }
unsigned subsystem_vendor(const GpuSpec& gpu) { return gpu.pci_subsystem_id & 0xffff; }
unsigned subsystem_device(const GpuSpec& gpu) { return gpu.pci_subsystem_id >> 16; }

std::string modalias(const GpuSpec& gpu) {
  const unsigned type = pci_class(gpu);
  return fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc{:02X}sc{:02X}i{:02X}", vendor(gpu), device(gpu),
                     subsystem_vendor(gpu), subsystem_device(gpu), type >> 16, type >> 8 & 0xff, type & 0xff);
}

std::string uevent(const GpuSpec& gpu) {
  return fmt::format(
      "DRIVER=nvidia\nPCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\nPCI_SLOT_NAME={}\n"
      "MODALIAS={}\n",
      pci_class(gpu), vendor(gpu), device(gpu), subsystem_vendor(gpu), subsystem_device(gpu),
      kernel_bus_id(gpu.pci_bus_id), modalias(gpu));
}

void put(std::string& bytes, std::size_t at, unsigned value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

unsigned pci_class(const GpuSpec& gpu) {
  return gpu.product.find("Workstation") == std::string::npos ? k3dController : kVgaController;
}

std::string config_space(const GpuSpec& gpu) {
  std::string bytes(256, '\0');
  put(bytes, 0x00, vendor(gpu), 2);
  put(bytes, 0x02, device(gpu), 2);
  put(bytes, 0x04, 0x0406, 2);  // memory and bus mastering on, INTx off
  put(bytes, 0x08, 0xa1, 1);    // revision
  put(bytes, 0x09, pci_class(gpu), 3);
  put(bytes, 0x2c, subsystem_vendor(gpu), 2);
  put(bytes, 0x2e, subsystem_device(gpu), 2);
  return bytes;
}

std::string resource_text(const GpuSpec& gpu, std::size_t index) {
  constexpr std::uint64_t kMiB = 1ULL << 20;
  struct Window {
    std::uint64_t start = 0, size = 0, flags = 0;
  };
  std::array<Window, 13> windows{};
  const std::uint64_t bar1 = std::max<std::uint64_t>(std::bit_ceil(gpu.bar1_mib), 1) * kMiB;
  const std::uint64_t high = 0x20000000000ULL * (index + 1);
  windows[0] = {0xa0000000ULL + index * 16 * kMiB, 16 * kMiB, 0x40200};
  windows[1] = {high, bar1, 0x14220c};
  windows[3] = {high + bar1, 32 * kMiB, 0x14220c};
  std::string text;
  for (const Window& window : windows)
    text += fmt::format("0x{:016x} 0x{:016x} 0x{:016x}\n", window.start,
                        window.size == 0 ? 0 : window.start + window.size - 1, window.flags);
  return text;
}

std::string processor_list(const Processors& processors) {
  const unsigned first = processors.first, last = processors.end - 1;
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

Result<void> write_pci_device(const std::filesystem::path& folder, const NodeSpec& spec, std::size_t index) {
  const GpuSpec& gpu = spec.gpus[index];
  const std::filesystem::path at = folder / kernel_bus_id(gpu.pci_bus_id);
  std::error_code error;
  std::filesystem::create_directory(at, error);
  if (error) return cannot_show("make", at, error.value());
  const auto all = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_CONF)));
  const auto hex = [](unsigned value, int digits) { return fmt::format("0x{:0{}x}\n", value, digits); };
  const std::pair<const char*, std::string> files[] = {
      {"vendor", hex(vendor(gpu), 4)},
      {"device", hex(device(gpu), 4)},
      {"subsystem_vendor", hex(subsystem_vendor(gpu), 4)},
      {"subsystem_device", hex(subsystem_device(gpu), 4)},
      {"class", hex(pci_class(gpu), 6)},
      {"revision", hex(0xa1, 2)},
      {"config", config_space(gpu)},
      {"resource", resource_text(gpu, index)},
      {"numa_node", fmt::format("{}\n", numa_node(spec, index))},
      {"local_cpulist", processor_list(near_processors(spec, index, all)) + "\n"},
      {"enable", "1\n"},
      {"irq", "0\n"},
      {"modalias", modalias(gpu) + "\n"},
      {"uevent", uevent(gpu)},
  };
  for (const auto& [name, text] : files) TRY_VOID(write_list(at / name, text));
  std::filesystem::create_directory_symlink("../../drivers/nvidia", at / "driver", error);
  if (error) return cannot_show("make", at / "driver", error.value());
  return {};
}

}  // namespace partita::emulator
