#include "emulator/programs/output.h"

#include <fmt/format.h>

#include <ctime>

namespace partita::emulator::programs {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

void add_xml(std::string& out, const Field& field, int depth) {
  const std::string indent(static_cast<std::size_t>(depth), '\t');
  if (field.parts.empty()) {
    // A list without entries has its word on a line of its own.
    const bool list = field.text == "None" && (field.tag == "mig_devices" || field.tag == "processes");
    if (list && field.tag == "processes")
      out += indent + "<processes>\n" + indent + "</processes>\n";
    else if (list)
      out += fmt::format("{0}<{1}>\n{0}\tNone\n{0}</{1}>\n", indent, field.tag);
    else
      out += fmt::format("{}<{}>{}</{}>\n", indent, field.tag, escaped(field.text), field.tag);
    return;
  }
  out += indent + "<" + field.tag + ">\n";
  for (const Field& part : field.parts) add_xml(out, part, depth + 1);
  out += indent + "</" + field.tag + ">\n";
}

void add_text(std::string& out, const Field& field, std::size_t indent) {
  const std::string label = std::string(indent, ' ') + field.label;
  if (field.parts.empty()) {
    out += fmt::format("{:<42}: {}\n", label, field.text);
    return;
  }
  out += label + "\n";
  for (const Field& part : field.parts) add_text(out, part, indent + 4);
}

}  // namespace

std::string time_stamp(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[64];
  std::strftime(text, sizeof text, format, &local);
  return text;
}

std::string cuda_version() {
  int version = 0;
  if (call<"nvmlSystemGetCudaDriverVersion_v2">(&version) != driver::kNvmlSuccess) return "Not Found";
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::vector<Field> read_system(std::size_t gpus) {
  return {leaf("timestamp", "Timestamp", time_stamp()),
          leaf("driver_version", "Driver Version", ask_text<"nvmlSystemGetDriverVersion">().value_or("N/A")),
          leaf("cuda_version", "CUDA Version", cuda_version()),
          leaf("attached_gpus", "Attached GPUs", std::to_string(gpus))};
}

std::string draw_xml(const std::vector<Field>& system, std::span<const Field> gpus, std::span<const Gpu> devices) {
  std::string out =
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n";
  for (const Field& field : system) add_xml(out, field, 1);
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    out += fmt::format("\t<gpu id=\"{}\">\n", devices[i].bus_id);
    for (const Field& part : gpus[i].parts) add_xml(out, part, 2);
    out += "\t</gpu>\n\n";
  }
  return out + "</nvidia_smi_log>\n";
}

std::string draw_text(const std::vector<Field>& system, std::span<const Field> gpus) {
  std::string out = "\n==============NVSMI LOG==============\n\n";
  for (const Field& field : system) {
    if (field.tag == "attached_gpus") out += "\n";
    add_text(out, field, 0);
  }
  for (const Field& gpu : gpus) {
    add_text(out, gpu, 0);
    out += "\n";
  }
  return out;
}

std::string draw_list(std::span<const Gpu> gpus) {
  std::string out;
  for (const Gpu& gpu : gpus) {
    out += fmt::format("GPU {}: {} (UUID: {})\n", gpu.index, ask_text<"nvmlDeviceGetName">(gpu.device).value_or("N/A"),
                       ask_text<"nvmlDeviceGetUUID">(gpu.device).value_or("N/A"));
    for (const MigDevice& device : mig_devices(gpu))
      out += fmt::format("  MIG {:<11} Device {:>2}: (UUID: {})\n", mig_device_name(device), device.index,
                         ask_text<"nvmlDeviceGetUUID">(device.device).value_or("N/A"));
  }
  return out;
}

}  // namespace partita::emulator::programs
