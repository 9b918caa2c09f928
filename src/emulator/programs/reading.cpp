#include "emulator/programs/reading.h"

#include <fmt/format.h>

namespace partita::emulator::programs {

namespace {

// NVML_BRAND_* and NVML_DEVICE_ARCH_*, as nvidia-smi spells them.
std::string brand(const Gpu& gpu) {
  constexpr unsigned kNvidiaRtx = 13;  // boards that can be cut are of this brand or of NVIDIA's own
  return ask<"nvmlDeviceGetBrand", unsigned>(gpu.device) == kNvidiaRtx ? "NVIDIA RTX" : "NVIDIA";
}

std::string architecture(const Gpu& gpu) {
  switch (ask<"nvmlDeviceGetArchitecture", unsigned>(gpu.device).value_or(0)) {
    case 7:
      return "Ampere";
    case 8:
      return "Ada Lovelace";
    case 9:
      return "Hopper";
    case 10:
      return "Blackwell";
    default:
      return "N/A";
  }
}

std::string compute_mode(const Gpu& gpu) {
  switch (ask<"nvmlDeviceGetComputeMode", unsigned>(gpu.device).value_or(0)) {
    case 2:
      return "Prohibited";
    case 3:
      return "Exclusive_Process";
    default:
      return "Default";
  }
}

Field mode_field(const std::optional<MigMode>& mode) {
  const auto word = [&](bool on) { return mode ? (on ? "Enabled" : "Disabled") : "N/A"; };
  return branch("mig_mode", "MIG Mode",
                {leaf("current_mig", "Current", word(mode && mode->current)),
                 leaf("pending_mig", "Pending", word(mode && mode->pending))});
}

Field inforom_field(const Gpu& gpu) {
  const auto object = [&](const char* tag, const char* label, unsigned which) {
    return leaf(tag, label, ask_text<"nvmlDeviceGetInforomVersion">(gpu.device, which).value_or("N/A"));
  };
  return branch(
      "inforom_version", "Inforom Version",
      {leaf("img_version", "Image Version", ask_text<"nvmlDeviceGetInforomImageVersion">(gpu.device).value_or("N/A")),
       object("oem_object", "OEM Object", 0), object("ecc_object", "ECC Object", 1),
       object("pwr_object", "Power Management Object", 2)});
}

std::string capability(const Gpu& gpu) {
  int major = 0, minor = 0;
  if (call<"nvmlDeviceGetCudaComputeCapability">(gpu.device, &major, &minor) != driver::kNvmlSuccess) return "N/A";
  return fmt::format("{}.{}", major, minor);
}

}  // namespace

Field leaf(std::string tag, std::string label, std::string text) {
  return {std::move(tag), std::move(label), std::move(text), {}};
}

Field branch(std::string tag, std::string label, std::vector<Field> parts) {
  return {std::move(tag), std::move(label), "", std::move(parts)};
}

std::string text_at(const Field& field, std::string_view path) {
  const std::size_t slash = path.find('/');
  for (const Field& part : field.parts)
    if (part.tag == path.substr(0, slash))
      return slash == std::string_view::npos ? part.text : text_at(part, path.substr(slash + 1));
  return "N/A";
}

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

std::string number(std::optional<unsigned> value) { return value ? std::to_string(*value) : "N/A"; }

std::string enabled_or_not(std::optional<unsigned> state) {
  return state ? (*state != 0 ? "Enabled" : "Disabled") : "N/A";
}

std::string mig_device_name(const MigDevice& device) {
  const std::string name = ask_text<"nvmlDeviceGetName">(device.device).value_or("");
  const std::size_t at = name.find("MIG ");
  return at == std::string::npos ? name : name.substr(at + 4);
}

Field read_gpu(const Gpu& gpu) {
  const auto text = [](const std::optional<std::string>& known) { return known.value_or("N/A"); };
  const std::optional<MigMode> mode = mig_mode(gpu);
  std::vector<Field> parts;
  parts.push_back(leaf("product_name", "Product Name", text(ask_text<"nvmlDeviceGetName">(gpu.device))));
  parts.push_back(leaf("product_brand", "Product Brand", brand(gpu)));
  parts.push_back(leaf("product_architecture", "Product Architecture", architecture(gpu)));
  parts.push_back(
      leaf("display_mode", "Display Mode", enabled_or_not(ask<"nvmlDeviceGetDisplayMode", unsigned>(gpu.device))));
  parts.push_back(leaf("display_active", "Display Active",
                       enabled_or_not(ask<"nvmlDeviceGetDisplayActive", unsigned>(gpu.device))));
  parts.push_back(leaf("persistence_mode", "Persistence Mode",
                       enabled_or_not(ask<"nvmlDeviceGetPersistenceMode", unsigned>(gpu.device))));
  parts.push_back(leaf("addressing_mode", "Addressing Mode", "None"));
  parts.push_back(mode_field(mode));
  parts.push_back(read_mig_devices(gpu, mode && mode->current));
  parts.push_back(leaf("accounting_mode", "Accounting Mode",
                       enabled_or_not(ask<"nvmlDeviceGetAccountingMode", unsigned>(gpu.device))));
  parts.push_back(leaf("accounting_mode_buffer_size", "Accounting Mode Buffer Size",
                       number(ask<"nvmlDeviceGetAccountingBufferSize", unsigned>(gpu.device))));
  parts.push_back(leaf("serial", "Serial Number", text(ask_text<"nvmlDeviceGetSerial">(gpu.device))));
  parts.push_back(leaf("uuid", "GPU UUID", text(ask_text<"nvmlDeviceGetUUID">(gpu.device))));
  parts.push_back(leaf("minor_number", "Minor Number", number(ask<"nvmlDeviceGetMinorNumber", unsigned>(gpu.device))));
  parts.push_back(leaf("vbios_version", "VBIOS Version", text(ask_text<"nvmlDeviceGetVbiosVersion">(gpu.device))));
  parts.push_back(
      leaf("board_part_number", "Board Part Number", text(ask_text<"nvmlDeviceGetBoardPartNumber">(gpu.device))));
  parts.push_back(inforom_field(gpu));
  parts.push_back(leaf("compute_cap", "Compute Capability", capability(gpu)));
  parts.push_back(read_pci(gpu));
  const auto fan = ask<"nvmlDeviceGetFanSpeed", unsigned>(gpu.device);
  parts.push_back(leaf("fan_speed", "Fan Speed", with_unit(fan, "%")));
  const auto state = ask<"nvmlDeviceGetPerformanceState", unsigned>(gpu.device);
  parts.push_back(leaf("performance_state", "Performance State", state ? "P" + std::to_string(*state) : "N/A"));
  parts.push_back(leaf("compute_mode", "Compute Mode", compute_mode(gpu)));
  for (Field& meter : read_meters(gpu)) parts.push_back(std::move(meter));
  parts.push_back(read_processes(gpu));
  return branch("gpu", "GPU " + gpu.bus_id, std::move(parts));
}

}  // namespace partita::emulator::programs
