// Where a node keeps its things.
#pragma once

#include <filesystem>

#include "node/node.h"

namespace partita::node {

inline std::filesystem::path lock_file(const Options& options) { return options.state_dir / "node.lock"; }
inline std::filesystem::path ledger_file(const Options& options) { return options.state_dir / "ledger.db"; }

}  // namespace partita::node
