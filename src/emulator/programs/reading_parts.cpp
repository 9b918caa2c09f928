// MIG devices, PCI and processes of a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "base/process.h"
#include "emulator/programs/reading.h"

namespace partita::emulator::programs {

namespace {

Field memory_field(std::string tag, std::string label, const std::optional<driver::NvmlMemory>& memory) {
  const auto text = [&](std::uint64_t driver::NvmlMemory::* part) { return memory ? mib((*memory).*part) : "N/A"; };
  std::vector<Field> parts = {leaf("total", "Total", text(&driver::NvmlMemory::total))};
  if (tag == "fb_memory_usage") parts.push_back(leaf("reserved", "Reserved", memory ? "0 MiB" : "N/A"));
  parts.push_back(leaf("used", "Used", text(&driver::NvmlMemory::used)));
  parts.push_back(leaf("free", "Free", text(&driver::NvmlMemory::free)));
  return branch(std::move(tag), std::move(label), std::move(parts));
}

Field engines_field(const MigDevice& device) {
  const auto engines = ask<"nvmlDeviceGetAttributes_v2", driver::NvmlDeviceAttributes>(device.device)
                           .value_or(driver::NvmlDeviceAttributes{});
  return branch("device_attributes", "Device Attributes",
                {branch("shared", "Shared",
                        {leaf("multiprocessor_count", "Multiprocessor count", std::to_string(engines.multiprocessors)),
                         leaf("copy_engine_count", "Copy Engine count", std::to_string(engines.copy)),
                         leaf("encoder_count", "Encoder count", std::to_string(engines.encoder)),
                         leaf("decoder_count", "Decoder count", std::to_string(engines.decoder)),
                         leaf("ofa_count", "OFA count", std::to_string(engines.ofa)),
                         leaf("jpg_count", "JPG count", std::to_string(engines.jpeg))})});
}

Field mig_device_field(const MigDevice& device) {
  return branch(
      "mig_device", "MIG Device",
      {leaf("index", "Index", std::to_string(device.index)),
       leaf("gpu_instance_id", "GPU Instance ID", number(ask<"nvmlDeviceGetGpuInstanceId", unsigned>(device.device))),
       leaf("compute_instance_id", "Compute Instance ID",
            number(ask<"nvmlDeviceGetComputeInstanceId", unsigned>(device.device))),
       engines_field(device),
       branch("ecc_error_count", "ECC Errors",
              {branch("volatile_count", "Volatile", {leaf("sram_uncorrectable", "SRAM Uncorrectable", "0")})}),
       memory_field("fb_memory_usage", "FB Memory Usage",
                    ask<"nvmlDeviceGetMemoryInfo", driver::NvmlMemory>(device.device)),
       memory_field("bar1_memory_usage", "BAR1 Memory Usage",
                    ask<"nvmlDeviceGetBAR1MemoryInfo", driver::NvmlMemory>(device.device))});
}

void add_processes(std::vector<Process>& found, NvmlDevice device) {
  unsigned count = 0;
  if (call<"nvmlDeviceGetComputeRunningProcesses_v3">(device, &count, static_cast<driver::NvmlProcessInfo*>(nullptr)) ==
      driver::kNvmlNotSupported)
    return;
  std::vector<driver::NvmlProcessInfo> rows(count + 16);  // some may have come meanwhile
  count = static_cast<unsigned>(rows.size());
  if (call<"nvmlDeviceGetComputeRunningProcesses_v3">(device, &count, rows.data()) != driver::kNvmlSuccess) return;
  for (unsigned i = 0; i < count; ++i) {
    Process process{rows[i].pid, rows[i].used_memory == driver::kNvmlNoValue ? 0 : rows[i].used_memory, {}, {}, ""};
    if (rows[i].gpu_instance != driver::kNvmlNoInstance) process.gpu_instance = rows[i].gpu_instance;
    if (rows[i].compute_instance != driver::kNvmlNoInstance) process.compute_instance = rows[i].compute_instance;
    process.name =
        ask_text<"nvmlSystemGetProcessName">(process.pid).value_or(process_name(static_cast<pid_t>(process.pid)));
    const bool known = std::ranges::any_of(found, [&](const Process& other) {
      return other.pid == process.pid && other.gpu_instance == process.gpu_instance &&
             other.compute_instance == process.compute_instance;
    });
    if (!known) found.push_back(std::move(process));
  }
}

}  // namespace

Field read_mig_devices(const Gpu& gpu, bool enabled) {
  std::vector<Field> devices;
  if (enabled)
    for (const MigDevice& device : mig_devices(gpu)) devices.push_back(mig_device_field(device));
  if (devices.empty()) return leaf("mig_devices", "MIG Devices", "None");
  return branch("mig_devices", "MIG Devices", std::move(devices));
}

Field read_pci(const Gpu& gpu) {
  const auto pci = ask<"nvmlDeviceGetPciInfo_v3", driver::NvmlPciInfo>(gpu.device).value_or(driver::NvmlPciInfo{});
  const auto link = [](const char* tag, const char* label, std::optional<unsigned> value, const char* after) {
    return leaf(tag, label, value ? std::to_string(*value) + after : "N/A");
  };
  return branch(
      "pci", "PCI",
      {leaf("pci_bus", "Bus", fmt::format("0x{:02X}", pci.bus)),
       leaf("pci_device", "Device", fmt::format("0x{:02X}", pci.device)),
       leaf("pci_domain", "Domain", fmt::format("0x{:04X}", pci.domain)),
       leaf("pci_device_id", "Device Id", fmt::format("0x{:08X}", pci.pci_device_id)),
       leaf("pci_bus_id", "Bus Id", pci.bus_id),
       leaf("pci_sub_system_id", "Sub System Id", fmt::format("0x{:08X}", pci.pci_subsystem_id)),
       branch("pci_gpu_link_info", "GPU Link Info",
              {branch("pcie_gen", "PCIe Generation",
                      {link("max_link_gen", "Max", ask<"nvmlDeviceGetMaxPcieLinkGeneration", unsigned>(gpu.device), ""),
                       link("current_link_gen", "Current",
                            ask<"nvmlDeviceGetCurrPcieLinkGeneration", unsigned>(gpu.device), "")}),
               branch("link_widths", "Link Width",
                      {link("max_link_width", "Max", ask<"nvmlDeviceGetMaxPcieLinkWidth", unsigned>(gpu.device), "x"),
                       link("current_link_width", "Current",
                            ask<"nvmlDeviceGetCurrPcieLinkWidth", unsigned>(gpu.device), "x")})})});
}

std::vector<Process> processes_of(const Gpu& gpu) {
  std::vector<Process> found;
  const std::vector<MigDevice> devices = mig_devices(gpu);
  for (const MigDevice& device : devices) add_processes(found, device.device);
  add_processes(found, gpu.device);
  return found;
}

Field read_processes(const Gpu& gpu) {
  std::vector<Field> rows;
  for (const Process& process : processes_of(gpu))
    rows.push_back(branch("process_info", "Process",
                          {leaf("gpu_instance_id", "GPU instance ID", number(process.gpu_instance)),
                           leaf("compute_instance_id", "Compute instance ID", number(process.compute_instance)),
                           leaf("pid", "Process ID", std::to_string(process.pid)), leaf("type", "Type", "C"),
                           leaf("process_name", "Name", process.name),
                           leaf("used_memory", "Used GPU Memory", mib(process.memory_bytes))}));
  if (rows.empty()) return leaf("processes", "Processes", "None");
  return branch("processes", "Processes", std::move(rows));
}

}  // namespace partita::emulator::programs
