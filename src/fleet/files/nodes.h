// A plan spread over the nodes of a fleet file: which node looks how, and the same as mig-parted files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fleet/files/fleet_file.h"
#include "layout/mig_parted_file.h"

namespace partita::fleet {

// Nodes that end up alike.
struct NodeLayout {
  int group = 0;  // index in FleetFile::groups
  std::int64_t nodes = 0;
  std::vector<int> gpus;  // per GPU: index in Plan::groups, or -1: an open node's GPU that is not needed
};

// In the order of the groups; GPUs that end up alike are handed out side by side, so there are few layouts. Live GPUs
// with MIG mode off come last within their kind: they get what changes least.
std::vector<NodeLayout> spread(const FleetFile& file, const Plan& plan);

// A GPU that jobs or timed leases run on: one of a live node, or any of its kind on described nodes.
struct TimedGpu {
  int group = -1;  // index in FleetFile::groups; -1: on described nodes
  int place = -1;  // index in NodeGroup::live
  bool operator==(const TimedGpu&) const = default;
};
// One for each of these kinds of a room beside the plan (schedule/batch_plan.h): no live GPU twice, and those with MIG
// mode on first. `layouts`: empty where nothing is planned.
std::vector<TimedGpu> timed_gpus(const FleetFile& file, const std::vector<NodeLayout>& layouts,
                                 const std::vector<int>& kinds);

// GPUs of a live node whose MIG mode must be turned on first.
struct MigOff {
  int group = 0;          // index in FleetFile::groups
  std::vector<int> gpus;  // indices on the node
};
// Where the plan, jobs or timed leases create something.
std::vector<MigOff> mig_to_turn_on(const FleetFile& file, const Plan& plan, const std::vector<NodeLayout>& layouts,
                                   const std::vector<TimedGpu>& timed);

// One file per group of nodes, with a label for each layout: "NAME-1", "NAME-2". Empty GPUs have MIG on and nothing
// cut; GPUs of live nodes that take no part, or whose MIG mode may stay off, are not in it.
struct NodeFile {
  std::string name;  // of the group
  layout::MigPartedFile file;
};
std::vector<NodeFile> mig_parted_files(const FleetFile& file, const Plan& plan, const std::vector<NodeLayout>& layouts);

}  // namespace partita::fleet
