// Resetting GPUs: which ones the driver resets together, what is in the way, and the command that does it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"

namespace partita::node {

// The GPU and all that hang together with it by direct NVLink connections, in the node's order.
std::vector<const layout::Gpu*> reset_group(const layout::NodeState& state, const layout::Gpu& gpu);

// A mode change needs its GPU idle, and with a reset all that are reset with it. `busy`, naming each process that runs
// on one of them and, unless `force`, each instance that is not ours to destroy.
Result<void> check_idle(const layout::Gpu& gpu, const std::vector<const layout::Gpu*>& group, bool resets, bool force);

// Options::reset_command with the bus ids filled in.
std::vector<std::string> fill_in(const std::vector<std::string>& command, const std::vector<std::string>& bus_ids);

// Runs it; `driver` with what the command wrote when it fails.
Result<void> run_reset(const std::vector<std::string>& command, const std::vector<std::string>& bus_ids,
                       std::chrono::milliseconds timeout);

}  // namespace partita::node
