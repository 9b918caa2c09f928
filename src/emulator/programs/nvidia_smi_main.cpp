// nvidia-smi for emulated nodes.
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "emulator/programs/arguments.h"
#include "emulator/programs/machine.h"
#include "emulator/programs/mig.h"
#include "emulator/programs/output.h"

namespace partita::emulator::programs {
namespace {

int put(const Arguments& arguments, const std::string& text) {
  if (!arguments.file) return std::fputs(text.c_str(), stdout) >= 0 ? 0 : 255;
  std::ofstream file(*arguments.file);
  file << text;
  if (file.flush()) return 0;
  std::printf("Unable to open file %s for writing.\n", arguments.file->c_str());
  return 255;
}

int query(const Arguments& arguments, const Chosen& chosen) {
  std::vector<Field> trees;
  for (const Gpu& gpu : chosen.gpus) trees.push_back(read_gpu(gpu));
  const auto count = ask<"nvmlDeviceGetCount_v2", unsigned>().value_or(0);
  const std::vector<Field> system = read_system(count);
  if (!arguments.sections.empty() && !arguments.xml)  // as nvidia-smi: -d is for the text alone
    for (Field& tree : trees)
      std::erase_if(tree.parts, [&](const Field& part) {
        return std::ranges::find(arguments.sections, part.tag) == arguments.sections.end();
      });
  return put(arguments, arguments.xml ? draw_xml(system, trees, chosen.gpus) : draw_text(system, trees));
}

int print_values(const Arguments& arguments, const Result<std::string>& values) {
  if (values) return put(arguments, *values);
  std::puts(values.error().message.c_str());
  return driver::kNvmlInvalidArgument;
}

int show(const Arguments& arguments) {
  const auto chosen = choose_gpus(arguments.gpus);
  if (!chosen) return driver::kNvmlNotFound;
  int status = 0;
  switch (arguments.action) {
    case Action::list:
      status = put(arguments, draw_list(chosen->gpus));
      break;
    case Action::query:
      status = query(arguments, *chosen);
      break;
    case Action::query_gpu:
      status = print_values(arguments, draw_gpu_values(chosen->gpus, arguments));
      break;
    case Action::query_apps:
      status = print_values(arguments, draw_app_values(chosen->gpus, arguments));
      break;
    default:
      status = put(arguments, draw_overview(chosen->gpus));
      break;
  }
  return status != 0 ? status : exit_status_of(chosen->answer);
}

int run(const Arguments& arguments) {
  switch (arguments.action) {
    case Action::help:
      std::fputs(std::string(help_text()).c_str(), stdout);
      return 0;
    case Action::mig_help:
      std::fputs(std::string(mig_help_text()).c_str(), stdout);
      return 0;
    default:
      break;
  }
  if (const auto opened = open_nvml(); !opened) {
    std::puts(opened.error().text.c_str());
    return opened.error().exit_status;
  }
  switch (arguments.action) {
    case Action::version:
      std::printf(
          "NVIDIA-SMI version  : %s (a stand-in of Partita's emulated driver)\nDRIVER version      : %s\nCUDA Version  "
          "      : %s\n",
          ask_text<"nvmlSystemGetDriverVersion">().value_or("N/A").c_str(),
          ask_text<"nvmlSystemGetDriverVersion">().value_or("N/A").c_str(), cuda_version().c_str());
      return 0;
    case Action::mig_mode:
      return run_mig_mode(arguments);
    case Action::persistence:
      return run_persistence(arguments);
    case Action::reset:
      return run_reset(arguments);
    case Action::overview:
    case Action::list:
    case Action::query:
    case Action::query_gpu:
    case Action::query_apps:
      return show(arguments);
    default:
      return run_mig(arguments);
  }
}

}  // namespace
}  // namespace partita::emulator::programs

int main(int argc, char** argv) {
  using namespace partita::emulator::programs;
  const auto arguments = parse_arguments({argv + 1, argv + argc});
  if (arguments) return run(*arguments);
  std::puts(arguments.error().message.c_str());
  for (const std::string& detail : arguments.error().details) std::fprintf(stderr, "%s\n", detail.c_str());
  return 2;
}
