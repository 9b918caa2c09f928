// Lists of emulated nodes and node types, drawn and as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/draw/terminal.h"
#include "emulator/control/control.h"

namespace partita::cli {

struct NodeType {
  std::string name;  // "dgx-a100"
  int gpus = 0;
  std::string boards;  // "8 x a100-sxm4-40gb"
  std::string driver;
};

// The node files that the program brings.
Result<std::vector<NodeType>> node_types();

std::string draw_emulated_nodes(const Look& look, const std::vector<emulator::EmulatedNode>& nodes);
std::string draw_node_types(const Look& look, const std::vector<NodeType>& types);
std::string emulated_nodes_json(const std::vector<emulator::EmulatedNode>& nodes);
std::string faults_json(const std::vector<emulator::Fault>& faults);
std::string node_types_json(const std::vector<NodeType>& types);

}  // namespace partita::cli
