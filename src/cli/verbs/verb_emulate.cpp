// emulate: start, list, reboot, reset, and a command on an emulated node.
#include "base/text.h"
#include "cli/draw/done.h"
#include "cli/draw/draw_emulated.h"
#include "cli/emulated.h"
#include "cli/verbs/run.h"
#include "emulator/control/control.h"

namespace partita::cli {

Result<int> run_emulate(const Parsed& parsed) {
  const auto given = parsed.text("NODE");
  const auto node_name = given ? given : parsed.text("emulate");
  if (!node_name)
    return fail(ErrorCode::invalid, "emulate needs a node: partita emulate NODE -- CMD",
                {"partita emulate types lists what can be started, partita emulate list what runs"});
  if (!parsed.command)
    return fail(ErrorCode::invalid,
                "emulate " + *node_name + " needs a command: partita emulate " + *node_name + " -- CMD",
                {"to only start it: partita emulate start " + *node_name});
  auto catalog = TRY(open_catalog(parsed));
  const auto node = TRY(emulator::start(catalog, *node_name));
  return std::unexpected(become(parsed, node, *parsed.command));
}

Result<int> run_emulate_start(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  auto catalog = TRY(open_catalog(parsed));
  const auto node = TRY(emulator::start(catalog, parsed.text("NODE").value_or("")));
  if (format == Format::table)
    TRY_VOID(print(node.name + " runs: " + count_of(static_cast<std::size_t>(node.gpus), "GPU") + ", " +
                   node.folder.string() + '\n'));
  else
    TRY_VOID(print_json(format, emulated_nodes_json({node})));
  return 0;
}

Result<int> run_emulate_list(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto nodes = emulator::list();
  if (format == Format::table)
    TRY_VOID(print(draw_emulated_nodes(output_look(parsed), nodes)));
  else
    TRY_VOID(print_json(format, emulated_nodes_json(nodes)));
  return 0;
}

Result<int> run_emulate_types(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto types = TRY(node_types());
  if (format == Format::table)
    TRY_VOID(print(draw_node_types(output_look(parsed), types)));
  else
    TRY_VOID(print_json(format, node_types_json(types)));
  return 0;
}

Result<int> run_emulate_reboot(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto node = TRY(chosen_node(parsed, parsed.text("NODE")));
  if (parsed.flag("driver-only")) {
    TRY_VOID(emulator::reload_driver(node.name));
    TRY_VOID(print_done(format, node.name + ": the driver is loaded anew"));
    return 0;
  }
  TRY_VOID(emulator::reboot(node.name));
  TRY_VOID(print_done(format, node.name + " has rebooted"));
  return 0;
}

Result<int> run_emulate_reset(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto node = TRY(chosen_node(parsed, parsed.text("NODE")));
  std::vector<std::string> gpus;  // --gpu A --gpu B, or --gpu A,B as nvidia-smi takes them
  for (const auto& list : parsed.all("gpu"))
    for (auto& gpu : split(list, ',')) gpus.push_back(std::move(gpu));
  TRY_VOID(emulator::reset(node.name, gpus));
  const std::string which =
      gpus.empty() ? "all GPUs are" : "GPU " + join(gpus, ", ") + (gpus.size() == 1 ? " is" : " are");
  TRY_VOID(print_done(format, node.name + ": " + which + " reset"));
  return 0;
}

}  // namespace partita::cli
