// A plan spread over the nodes of a fleet file: which node looks how, and the same as mig-parted files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/fleet_file.h"
#include "layout/mig_parted_file.h"

namespace partita::fleet {

// Nodes that end up alike.
struct NodeLayout {
  int group = 0;  // index in FleetFile::groups
  std::int64_t nodes = 0;
  std::vector<int> gpus;  // per GPU: index in Plan::groups, or -1: an open node's GPU that is not needed
};

// In the order of the groups; GPUs that end up alike are handed out side by side, so there are few layouts.
std::vector<NodeLayout> spread(const FleetFile& file, const Plan& plan);

// One file per group of nodes, with a label for each layout: "NAME-1", "NAME-2". Empty GPUs have MIG on and nothing
// cut.
struct NodeFile {
  std::string name;  // of the group
  layout::MigPartedFile file;
};
std::vector<NodeFile> mig_parted_files(const FleetFile& file, const Plan& plan, const std::vector<NodeLayout>& layouts);

}  // namespace partita::fleet
