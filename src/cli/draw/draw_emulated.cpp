#include "cli/draw/draw_emulated.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catalog/embedded.h"
#include "cli/draw/table.h"
#include "emulator/control/fault_text.h"
#include "emulator/control/node_file.h"

namespace partita::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Result<std::vector<NodeType>> node_types() {
  constexpr std::string_view kFolder = "nodes/", kEnding = ".yaml";
  std::vector<NodeType> out;
  for (const auto path : catalog::embedded_files(kFolder)) {
    const auto file = TRY(emulator::read_node_file(catalog::embedded_file(path).value_or(""), std::string(path)));
    NodeType type{std::string(path.substr(kFolder.size(), path.size() - kFolder.size() - kEnding.size())), 0, "",
                  file.driver};
    std::vector<std::string> boards;
    for (const auto& gpus : file.gpus) {
      type.gpus += gpus.count;
      boards.push_back(std::to_string(gpus.count) + " x " + (gpus.plain ? gpus.plain->product : gpus.board));
    }
    type.boards = join(boards, ", ");
    out.push_back(std::move(type));
  }
  return out;
}

std::string draw_emulated_nodes(const Look& look, const std::vector<emulator::EmulatedNode>& nodes) {
  if (nodes.empty()) return "no emulated node runs: start one with partita emulate start dgx-a100\n";
  Table table({{"node"}, {"type"}, {"GPUs", true}, {"folder"}});
  for (const auto& node : nodes)
    table.add({{node.name, Tone::strong},
               {printable(node.type)},
               {std::to_string(node.gpus)},
               {printable(node.folder.string())}});
  return table.draw(look);
}

std::string draw_node_types(const Look& look, const std::vector<NodeType>& types) {
  Table table({{"type"}, {"GPUs"}, {"driver"}});
  for (const auto& type : types) table.add({{type.name, Tone::strong}, {type.boards}, {type.driver}});
  return table.draw(look);
}

std::string emulated_nodes_json(const std::vector<emulator::EmulatedNode>& nodes) {
  auto list = Json::array();
  for (const auto& node : nodes)
    list.push_back(
        {{"name", node.name}, {"type", node.type}, {"gpu_count", node.gpus}, {"folder", node.folder.string()}});
  return text_of({{"emulated_nodes", std::move(list)}});
}

// Absent: any GPU, always, no such effect.
std::string faults_json(const std::vector<emulator::Fault>& faults) {
  auto list = Json::array();
  for (const auto& fault : faults) {
    Json row{{"function", fault.function}, {"text", emulator::describe(fault)}};
    if (fault.gpu) row["gpu"] = *fault.gpu;
    if (fault.calls) row["calls_left"] = *fault.calls;
    if (fault.probability) row["probability"] = *fault.probability;
    if (fault.answer) row["return"] = *fault.answer;
    if (fault.delay) row["least_delay_ms"] = fault.delay->least.count();
    if (fault.delay) row["most_delay_ms"] = fault.delay->most.count();
    if (fault.xid) row["xid"] = *fault.xid;
    if (fault.condition) row["condition"] = emulator::condition_name(*fault.condition);
    if (fault.measured_times) row["measured_times"] = *fault.measured_times;
    if (fault.linger) row["busy_after_exit_ms"] = fault.linger->count();
    list.push_back(std::move(row));
  }
  return text_of({{"faults", std::move(list)}});
}

std::string node_types_json(const std::vector<NodeType>& types) {
  auto list = Json::array();
  for (const auto& type : types)
    list.push_back(
        {{"type", type.name}, {"gpu_count", type.gpus}, {"gpus", type.boards}, {"driver_version", type.driver}});
  return text_of({{"node_types", std::move(list)}});
}

}  // namespace partita::cli
