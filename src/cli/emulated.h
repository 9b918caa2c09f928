// Which emulated node a verb means, and how a command runs on it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command_line/parse.h"
#include "emulator/control/control.h"

namespace partita::cli {

// The node named by `given`, by --node or by --emulate; where none is named, the only one there is. `invalid` lists
// them when there are several.
Result<emulator::EmulatedNode> chosen_node(const Parsed& parsed, const std::optional<std::string>& given);

// Becomes `command` with the node's library first in its library path and the stand-ins of the driver's programs first
// in its PATH; as root, with the node's files under /dev, /proc and /sys, too. Says on standard error what the command
// does not see. Returns only when that fails. Options that count: --library-only.
Error become(const Parsed& parsed, const emulator::EmulatedNode& node, const std::vector<std::string>& command);

}  // namespace partita::cli
