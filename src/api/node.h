// The interface of a node, as the command, the daemon and remote clients see it. The node itself (node/) and the HTTP
// client (client/) implement it. Plain structs; JSON shapes in api/json.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/caller.h"
#include "api/lease.h"
#include "api/measures.h"
#include "base/error.h"
#include "base/progress.h"
#include "layout/checkpoint_file.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "plan/pack.h"
#include "plan/transition.h"

namespace partita::api {

// What is asked of the node.
struct LayoutRequest {  // one label of a mig-parted file
  layout::MigPartedLabel label;
  std::string file;
};
struct CheckpointRequest {  // a checkpoint's text
  std::string text;
  std::string file;
};
struct DemandRequest {  // "3g.20gb" x 2 anywhere on the node, beside what is pinned
  std::vector<std::pair<std::string, int>> demand;
};
using Wanted = std::variant<LayoutRequest, CheckpointRequest, DemandRequest>;

struct ChangeOptions {
  bool mode_only = false;   // -m: set the mode, leave instances alone
  bool skip_reset = false;  // -s: leave a needed reset pending
  bool adopt = false;       // foreign instances become ours (idle ones may then be recut)
  bool force = false;       // administrator only: pinned instances may be destroyed; says first what it hits
  bool no_wait = false;     // fail when another process holds the node's lock
  layout::HooksFile hooks;  // run around apply, as mig-parted does
};

struct PlanRequest {
  Caller caller;
  Wanted wanted;
  ChangeOptions options;
  // Of an apply: asked once nobody else can change the node, and before anything is; an error of it ends the apply.
  std::function<Result<void>(const layout::NodeState&)> only_if{};
};

// What happens to one GPU.
struct GpuChange {
  layout::Gpu before;            // with pins
  std::optional<bool> set_mode;  // the mode to set, when it changes
  bool needs_reset = false;
  std::vector<std::string>
      reset_together;  // PCI bus ids that the driver resets with it (NVLink peers), itself included
  plan::GpuPlan plan;  // empty steps when only the mode changes
  // The board the steps' profiles refer to (as the catalog gives it while MIG is still off).
  std::shared_ptr<const catalog::Board> board;
};

struct NodePlanAnswer {
  layout::NodeState before;
  std::vector<GpuChange> changes;      // only GPUs that differ
  std::vector<std::string> unchanged;  // UUIDs that the request mentions and that are right already
  std::vector<std::string> warnings;
  int gpu_instances_kept = 0, gpu_instances_destroyed = 0, gpu_instances_created = 0;
  bool forced = false;  // pinned instances will be hit
};

struct ApplyAnswer {
  NodePlanAnswer plan;  // what was done
  layout::NodeState after;
  std::vector<std::string> pending_reset;  // UUIDs whose mode change waits for a reset (--skip-reset)
  // What recovery did before this operation: "finished the apply that pid 4711 left at step 3 of 7".
  std::vector<std::string> recovered;
};

struct Difference {
  std::string gpu;   // UUID
  std::string what;  // "GPU 3: 2g.10gb: 1 wanted, 0 found"
};
struct AssertAnswer {
  std::vector<Difference> differences;  // empty: the node is as asked
  std::vector<std::string> warnings;
};

struct Ownership {  // a row of the ledger
  std::string gpu;
  int gpu_instance_id = 0;
  int start = 0;
};

struct StatusAnswer {
  layout::NodeState state;  // with pins
  std::string node;         // emulated node's name, or the host's
  bool emulated = false;
  std::vector<std::string> notes;  // unfinished operations, pending resets
};

struct Finding {
  enum class Level { ok, warning, problem };
  Level level = Level::ok;
  std::string what;    // "MIG capability files"
  std::string found;   // "/proc/driver/nvidia/capabilities is missing"
  std::string advice;  // "run nvidia-modprobe -f ..." ; "" when ok
};
struct DoctorAnswer {
  std::vector<Finding> findings;
};

class Node {
 public:
  virtual ~Node() = default;

  virtual Result<StatusAnswer> status() = 0;
  // The transition that apply would make; changes nothing.
  virtual Result<NodePlanAnswer> plan(const PlanRequest& request) = 0;
  // All or nothing: journals its intent first; a failure leaves the old layout.
  virtual Result<ApplyAnswer> apply(const PlanRequest& request, Progress& progress) = 0;
  // Like mig-parted, `assert` demands that every GPU of the node is matched by some entry.
  virtual Result<AssertAnswer> check(const PlanRequest& request) = 0;
  virtual Result<layout::NodeState> state() = 0;  // for export, checkpoint, generate-config
  virtual Result<DoctorAnswer> doctor() = 0;

  // Leases. All return at once. A request that cannot be served now is `waiting` in the queue of a node that is served
  // by a daemon, and `no_space` with the reason elsewhere or with no_wait. `denied` for another's lease or over quota.
  virtual Result<std::vector<Lease>> lease(const LeaseRequest& request) = 0;
  virtual Result<std::vector<Lease>> leases(const LeaseQuery& query) = 0;
  // Ends what still runs, takes permissions back, and frees the partition: `releasing` until its processes are gone.
  virtual Result<Lease> release(const LeaseChange& change) = 0;
  virtual Result<Lease> renew(const LeaseChange& change, std::optional<std::chrono::milliseconds> duration) = 0;
  // Of an idle lease, every other one untouched; `busy` while its work runs.
  virtual Result<Lease> resize(const LeaseChange& change, const Requirement& requirement) = 0;
  virtual Result<Lease> park(const LeaseChange& change) = 0;
  virtual Result<Lease> unpark(const LeaseChange& change) = 0;
  // Confines a process of the caller, and all that it starts, to the lease's devices.
  virtual Result<Lease> attach(const LeaseChange& change, const ProcessId& process) = 0;
  virtual Result<std::vector<Event>> events(const EventQuery& query) = 0;
  virtual Result<PolicyAnswer> policy(const Caller& caller) = 0;
  // Only a process that stays with the node measures it, so only a daemon's node has them; `unavailable` elsewhere.
  virtual Result<Measures> measures() { return fail(ErrorCode::unavailable, "only a daemon measures its node"); }
};

}  // namespace partita::api
