// --query-gpu and --query-compute-apps: a field's name leads to its place in the tree.
#include <fmt/format.h>

#include "base/text.h"
#include "emulator/programs/output.h"

namespace partita::emulator::programs {

namespace {

struct Column {
  std::string_view name;
  std::string_view path;       // in the GPU's tree; "" for what stands outside
  std::string_view unit = "";  // in the heading: "memory.total [MiB]"
};

constexpr Column kGpuColumns[] = {
    {"timestamp", ""},
    {"driver_version", ""},
    {"count", ""},
    {"index", ""},
    {"name", "product_name"},
    {"gpu_name", "product_name"},
    {"uuid", "uuid"},
    {"gpu_uuid", "uuid"},
    {"serial", "serial"},
    {"gpu_serial", "serial"},
    {"vbios_version", "vbios_version"},
    {"pci.bus_id", "pci/pci_bus_id"},
    {"gpu_bus_id", "pci/pci_bus_id"},
    {"pci.bus", "pci/pci_bus"},
    {"pci.device", "pci/pci_device"},
    {"pci.domain", "pci/pci_domain"},
    {"pci.device_id", "pci/pci_device_id"},
    {"pci.sub_device_id", "pci/pci_sub_system_id"},
    {"pcie.link.gen.current", "pci/pci_gpu_link_info/pcie_gen/current_link_gen"},
    {"pcie.link.gen.max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen"},
    {"pcie.link.width.current", "pci/pci_gpu_link_info/link_widths/current_link_width"},
    {"pcie.link.width.max", "pci/pci_gpu_link_info/link_widths/max_link_width"},
    {"display_mode", "display_mode"},
    {"display_active", "display_active"},
    {"persistence_mode", "persistence_mode"},
    {"accounting.mode", "accounting_mode"},
    {"accounting.buffer_size", "accounting_mode_buffer_size"},
    {"inforom.img", "inforom_version/img_version"},
    {"inforom.image", "inforom_version/img_version"},
    {"inforom.oem", "inforom_version/oem_object"},
    {"inforom.ecc", "inforom_version/ecc_object"},
    {"inforom.pwr", "inforom_version/pwr_object"},
    {"inforom.power", "inforom_version/pwr_object"},
    {"compute_mode", "compute_mode"},
    {"compute_cap", "compute_cap"},
    {"fan.speed", "fan_speed", "%"},
    {"pstate", "performance_state"},
    {"memory.total", "fb_memory_usage/total", "MiB"},
    {"memory.reserved", "fb_memory_usage/reserved", "MiB"},
    {"memory.used", "fb_memory_usage/used", "MiB"},
    {"memory.free", "fb_memory_usage/free", "MiB"},
    {"utilization.gpu", "utilization/gpu_util", "%"},
    {"utilization.memory", "utilization/memory_util", "%"},
    {"utilization.encoder", "utilization/encoder_util", "%"},
    {"utilization.decoder", "utilization/decoder_util", "%"},
    {"ecc.mode.current", "ecc_mode/current_ecc"},
    {"ecc.mode.pending", "ecc_mode/pending_ecc"},
    {"ecc.errors.uncorrected.volatile.total", "ecc_errors/volatile/sram_uncorrectable"},
    {"temperature.gpu", "temperature/gpu_temp"},
    {"power.draw", "gpu_power_readings/power_draw", "W"},
    {"power.limit", "gpu_power_readings/current_power_limit", "W"},
    {"enforced.power.limit", "gpu_power_readings/current_power_limit", "W"},
    {"power.default_limit", "gpu_power_readings/default_power_limit", "W"},
    {"power.min_limit", "gpu_power_readings/min_power_limit", "W"},
    {"power.max_limit", "gpu_power_readings/max_power_limit", "W"},
    {"clocks.gr", "clocks/graphics_clock", "MHz"},
    {"clocks.current.graphics", "clocks/graphics_clock", "MHz"},
    {"clocks.sm", "clocks/sm_clock", "MHz"},
    {"clocks.current.sm", "clocks/sm_clock", "MHz"},
    {"clocks.mem", "clocks/mem_clock", "MHz"},
    {"clocks.current.memory", "clocks/mem_clock", "MHz"},
    {"clocks.video", "clocks/video_clock", "MHz"},
    {"clocks.current.video", "clocks/video_clock", "MHz"},
    {"clocks.applications.gr", "applications_clocks/graphics_clock", "MHz"},
    {"clocks.applications.graphics", "applications_clocks/graphics_clock", "MHz"},
    {"clocks.applications.mem", "applications_clocks/mem_clock", "MHz"},
    {"clocks.applications.memory", "applications_clocks/mem_clock", "MHz"},
    {"clocks.default_applications.gr", "default_applications_clocks/graphics_clock", "MHz"},
    {"clocks.default_applications.graphics", "default_applications_clocks/graphics_clock", "MHz"},
    {"clocks.default_applications.mem", "default_applications_clocks/mem_clock", "MHz"},
    {"clocks.default_applications.memory", "default_applications_clocks/mem_clock", "MHz"},
    {"clocks.max.gr", "max_clocks/graphics_clock", "MHz"},
    {"clocks.max.sm", "max_clocks/sm_clock", "MHz"},
    {"clocks.max.graphics", "max_clocks/graphics_clock", "MHz"},
    {"clocks.max.mem", "max_clocks/mem_clock", "MHz"},
    {"clocks.max.memory", "max_clocks/mem_clock", "MHz"},
    {"mig.mode.current", "mig_mode/current_mig"},
    {"mig.mode.pending", "mig_mode/pending_mig"},
};

const Column* find_column(std::string_view name) {
  for (const Column& column : kGpuColumns)
    if (column.name == name) return &column;
  return nullptr;
}

std::unexpected<Error> unknown_field(const std::string& name) {
  return fail(ErrorCode::not_found, fmt::format("Field \"{}\" is not a valid field to query.\n", one_line(name)));
}

// "16x" is 16 here, and what is not known stands in brackets.
std::string value_of(const Column& column, std::string text, bool units) {
  if (text == "N/A" || text.starts_with("Requested functionality")) return "[" + text + "]";
  if (column.path.starts_with("pci/pci_gpu_link_info") && text.ends_with("x")) text.pop_back();
  const bool temperature = column.name == "temperature.gpu";
  if (!units || temperature) text = text.substr(0, column.unit.empty() && !temperature ? text.npos : text.find(' '));
  return text;
}

std::string outside_the_tree(std::string_view name, const Gpu& gpu) {
  if (name == "index") return std::to_string(gpu.index);
  if (name == "count") return std::to_string(ask<"nvmlDeviceGetCount_v2", unsigned>().value_or(0));
  if (name == "driver_version") return ask_text<"nvmlSystemGetDriverVersion">().value_or("N/A");
  return time_stamp("%Y/%m/%d %H:%M:%S.000");
}

}  // namespace

Result<std::string> draw_gpu_values(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::vector<const Column*> columns;
  std::vector<std::string> names;
  for (const std::string& name : arguments.values) {
    const Column* column = find_column(name);
    if (column == nullptr) return unknown_field(name);
    columns.push_back(column);
    names.push_back(column->unit.empty() ? name : fmt::format("{} [{}]", name, column->unit));
  }
  std::string out = arguments.header ? join(names, ", ") + "\n" : "";
  for (const Gpu& gpu : gpus) {
    const Field tree = read_gpu(gpu);
    std::vector<std::string> row;
    for (const Column* column : columns)
      row.push_back(column->path.empty() ? outside_the_tree(column->name, gpu)
                                         : value_of(*column, text_at(tree, column->path), arguments.units));
    out += join(row, ", ") + "\n";
  }
  return out;
}

Result<std::string> draw_app_values(std::span<const Gpu> gpus, const Arguments& arguments) {
  std::vector<std::string> names;
  for (const std::string& name : arguments.values)
    names.push_back(name == "used_memory" || name == "used_gpu_memory" ? name + " [MiB]" : name);
  std::string out = arguments.header ? join(names, ", ") + "\n" : "";
  for (const Gpu& gpu : gpus)
    for (const Process& process : processes_of(gpu)) {
      std::vector<std::string> row;
      for (const std::string& name : arguments.values) {
        if (name == "pid")
          row.push_back(std::to_string(process.pid));
        else if (name == "process_name" || name == "name")
          row.push_back(process.name);
        else if (name == "gpu_uuid")
          row.push_back(ask_text<"nvmlDeviceGetUUID">(gpu.device).value_or("N/A"));
        else if (name == "gpu_bus_id")
          row.push_back(gpu.bus_id);
        else if (name == "gpu_name")
          row.push_back(ask_text<"nvmlDeviceGetName">(gpu.device).value_or("N/A"));
        else if (name == "used_memory" || name == "used_gpu_memory")
          row.push_back(arguments.units ? mib(process.memory_bytes) : std::to_string(process.memory_bytes >> 20));
        else
          return unknown_field(name);
      }
      out += join(row, ", ") + "\n";
    }
  return out;
}

}  // namespace partita::emulator::programs
