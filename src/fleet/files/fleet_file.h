// A fleet as text: described, or the status of live nodes. Text in, struct out.
//
//   version: v1
//   fleet:
//     - board: h100-sxm5-80gb     # each GPU alike; 8 to a node unless gpus_per_node says otherwise
//       nodes: 40                 # or "open": as many as the demand needs
//       price: 2.5                # of one GPU in use; 1 unless said
//       holds:                    # on each GPU; nothing unless said
//         - {profile: 3g.40gb, start: 4, pinned: true}
//     - name: mixed               # GPUs of a node that differ
//       nodes: 2
//       gpus:
//         - {board: a100-sxm4-40gb, count: 4}
//         - {board: a30-24gb, count: 2, price: 0.4}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "catalog/catalog.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

// A GPU of a live node that takes part.
struct LiveGpu {
  int index = 0;
  std::string uuid;  // empty: not told
  bool mig_on = true;
};

// Nodes that are alike: what their GPUs are, in the order of their indices.
struct NodeGroup {
  std::string name;
  std::int64_t nodes = 0;  // of open groups: 0
  bool open = false;
  std::vector<int> kinds;     // per GPU: index in Fleet::kinds
  std::vector<LiveGpu> live;  // parallel to it; empty: the nodes are described
};

struct FleetFile {
  Fleet fleet;
  std::vector<NodeGroup> groups;
};

// Adds a file's nodes to `into`. Reads what is shown above, or what `partita status -o json` prints: then each instance
// with a process, a lease or a foreign owner is pinned, and GPUs that cannot be cut, are leased whole, or run a process
// without MIG mode take no part. `invalid` names file, line and key, also where a node or GPU is there already; unknown
// boards and profiles are `not_found` with the nearest names.
Result<void> read_fleet(std::string_view text, const std::string& file, catalog::Catalog& catalog, FleetFile& into);

}  // namespace partita::fleet
