// The conductor of one node: implements api::Node over the driver, the ledger (SQLite) and the plan.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "driver/driver.h"

namespace partita::node {

struct Options {
  driver::Options driver;
  // Where the database and node.lock live: /var/lib/partita (root), the XDG state folder, or beside an emulated node.
  std::filesystem::path state_dir;
  std::string name;  // host name or emulated node's name
  bool emulated = false;
  // Resets GPUs: each argument in which "{bus-id}" stands is repeated or replaced by the PCI bus ids to reset.
  // Default: nvidia-smi --gpu-reset -i BUS-ID[,BUS-ID...].
  std::vector<std::string> reset_command = {"nvidia-smi", "--gpu-reset", "-i", "{bus-id}"};
};

// Opens the driver and the database. The lock is taken per operation, not here. References are kept.
Result<std::unique_ptr<api::Node>> open_node(catalog::Catalog& catalog, const Clock& clock, Options options);

}  // namespace partita::node
