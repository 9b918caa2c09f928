// The table of nvidia-smi without options: GPUs, MIG devices, processes; columns as driver 550 and later print them.
#include <fmt/format.h>

#include "emulator/programs/output.h"

namespace partita::emulator::programs {

namespace {

std::string without_blank(std::string text) {
  std::erase(text, ' ');
  return text;
}

// "144W"; a blank stands for the unit where nothing is known.
std::string watts(const std::string& text) { return text == "N/A" ? "N/A " : text.substr(0, text.find('.')) + "W"; }

std::string shortened(const std::string& name) { return name.size() <= 27 ? name : name.substr(0, 24) + "..."; }

std::string on_or_off(const std::string& state) { return state == "Enabled" ? "On" : "Off"; }

constexpr std::string_view kRule =
    "+-----------------------------------------+------------------------+----------------------+\n";
constexpr std::string_view kWide =
    "+-----------------------------------------------------------------------------------------+\n";
constexpr std::string_view kMigRule =
    "+------------------+----------------------------------+-----------+-----------------------+\n";

constexpr std::string_view kHeading =
    "|-----------------------------------------+------------------------+----------------------+\n"
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
    "|                                         |                        |               MIG M. |\n"
    "|=========================================+========================+======================|\n";
constexpr std::string_view kMigHeading =
    "| MIG devices:                                                                            |\n"
    "+------------------+----------------------------------+-----------+-----------------------+\n"
    "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |\n"
    "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |\n"
    "|                  |                                  |        ECC|                       |\n"
    "|==================+==================================+===========+=======================|\n";
constexpr std::string_view kProcessHeading =
    "| Processes:                                                                              |\n"
    "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
    "|        ID   ID                                                               Usage      |\n"
    "|=========================================================================================|\n";

std::string gpu_rows(const Gpu& gpu, const Field& tree) {
  const auto at = [&](std::string_view path) { return text_at(tree, path); };
  const bool mig = at("mig_mode/current_mig") == "Enabled";
  std::string out =
      fmt::format("|{:>4}  {:<27}    {:<3} |   {:>16} {:<3} | {:>20} |\n", gpu.index, shortened(at("product_name")),
                  on_or_off(at("persistence_mode")), gpu.bus_id, on_or_off(at("display_active")),
                  mig ? "On" : at("ecc_errors/volatile/sram_uncorrectable"));
  out += fmt::format("| {:>3}   {:>3}    {:<2}{:>16} / {:>5} | {:>10} / {:>9} |{:>8} {:>12} |\n",
                     without_blank(at("fan_speed")), without_blank(at("temperature/gpu_temp")), at("performance_state"),
                     watts(at("gpu_power_readings/power_draw")), watts(at("gpu_power_readings/current_power_limit")),
                     without_blank(at("fb_memory_usage/used")), without_blank(at("fb_memory_usage/total")),
                     mig ? "N/A" : without_blank(at("utilization/gpu_util")), at("compute_mode"));
  return out + fmt::format("|{:41}|{:24}| {:>20} |\n", "", "", at("mig_mode/current_mig"));
}

std::string mig_rows(const Gpu& gpu, const Field& device) {
  const auto at = [&](std::string_view path) { return text_at(device, path); };
  const auto engine = [&](const char* name) { return at(std::string("device_attributes/shared/") + name); };
  return fmt::format(
      "|{:>3}{:>5}{:>4}{:>4}  |{:>19} / {:>8}    |{:>3}{:>7} |{:>3}{:>4}{:>5}{:>5}{:>5} |\n"
      "|{:18}|{:>19} / {:>8}    |{:11}|{:23}|\n",
      gpu.index, at("gpu_instance_id"), at("compute_instance_id"), at("index"),
      without_blank(at("fb_memory_usage/used")), without_blank(at("fb_memory_usage/total")),
      engine("multiprocessor_count"), at("ecc_error_count/volatile_count/sram_uncorrectable"),
      engine("copy_engine_count"), engine("encoder_count"), engine("decoder_count"), engine("ofa_count"),
      engine("jpg_count"), "", without_blank(at("bar1_memory_usage/used")),
      without_blank(at("bar1_memory_usage/total")), "", "");
}

// Only where a GPU has MIG on.
std::string mig_table(std::span<const Gpu> gpus, std::span<const Field> trees) {
  bool any = false;
  std::string rows;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    any |= text_at(trees[i], "mig_mode/current_mig") == "Enabled";
    for (const Field& part : trees[i].parts)
      if (part.tag == "mig_devices")
        for (const Field& device : part.parts) rows += mig_rows(gpus[i], device) + std::string(kMigRule);
  }
  if (!any) return "";
  if (rows.empty()) rows = fmt::format("|  {:<87}|\n", "No MIG devices found") + std::string(kWide);
  return "\n" + std::string(kWide) + std::string(kMigHeading) + rows;
}

std::string process_table(std::span<const Gpu> gpus) {
  const auto id = [](std::optional<unsigned> value) { return value ? std::to_string(*value) : std::string("N/A"); };
  std::string rows;
  for (const Gpu& gpu : gpus)
    for (const Process& process : processes_of(gpu))
      rows += fmt::format("|{:>5}   {:>3}  {:>3}{:>16}      C   {:<36.36}{:>10} |\n", gpu.index,
                          id(process.gpu_instance), id(process.compute_instance), process.pid, process.name,
                          without_blank(mib(process.memory_bytes)));
  if (rows.empty()) rows = fmt::format("|  {:<87}|\n", "No running processes found");
  return "\n" + std::string(kWide) + std::string(kProcessHeading) + rows + std::string(kWide);
}

}  // namespace

std::string draw_overview(std::span<const Gpu> gpus) {
  const std::string version = ask_text<"nvmlSystemGetDriverVersion">().value_or("N/A");
  std::vector<Field> trees;
  for (const Gpu& gpu : gpus) trees.push_back(read_gpu(gpu));
  std::string out = time_stamp() + "       \n" + std::string(kWide);
  out += fmt::format("| NVIDIA-SMI {:<22} Driver Version: {:<14} CUDA Version: {:<8} |\n", version, version,
                     cuda_version());
  out += kHeading;
  for (std::size_t i = 0; i < gpus.size(); ++i) out += gpu_rows(gpus[i], trees[i]) + std::string(kRule);
  return out + mig_table(gpus, trees) + process_table(gpus);
}

}  // namespace partita::emulator::programs
