// The node that a verb works on, and how it is reached.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/common.h"
#include "emulator/control/control.h"
#include "node/node.h"

namespace partita::cli {

// Where the node of this machine, or of --emulate, keeps its things, and how its leases are delivered.
struct NodePlace {
  node::Options options;
  std::optional<emulator::EmulatedNode> emulated;
  std::filesystem::path socket;  // of its daemon, where no other is asked for
};
Result<NodePlace> node_place(const Parsed& parsed, catalog::Catalog& catalog);

// The control groups' parent of an emulated node. A machine has one tree of them, but may have nodes of one name in
// several folders: each takes what is in its own for its leases.
std::string groups_of_node(const emulator::EmulatedNode& emulated);

// Who this process is, with groups. On an emulated node everyone administers.
api::Caller this_user(bool emulated);

// The environment in which a program finds the emulated driver of this node.
Result<std::vector<std::pair<std::string, std::string>>> emulated_environment(const emulator::EmulatedNode& node);

}  // namespace partita::cli
