// What the ledger stores, as plain structs. Profiles are stored by their NVML numbers: indices in Board::profiles hold
// only for one reading of one driver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "node/epoch.h"
#include "plan/transition.h"

namespace partita::node {

// A GPU instance that Partita made (or adopted) in this epoch.
struct OwnedInstance {
  std::string gpu;  // UUID
  int gpu_instance = 0;
  int profile = 0;  // NVML number
  int start = 0;
  std::int64_t generation = 0;  // the operation that made it
};

struct ComputeRecord {
  int profile = 0;  // NVML number
  int start = 0;
  auto operator<=>(const ComputeRecord&) const = default;
};
struct InstanceRecord {
  int profile = 0;  // NVML number
  int start = 0;
  bool foreign = false;
  std::vector<ComputeRecord> compute;
};
// Exactly how a GPU looks: what rolling back and finishing lead to.
struct LayoutRecord {
  bool mig_enabled = false;
  std::optional<std::vector<InstanceRecord>> instances;  // nullopt: only the mode counts
};

struct OperationGpu {
  std::string gpu;  // UUID
  LayoutRecord old_layout, new_layout;
};

enum class StepKind { set_mode, reset, destroy_compute, destroy_gpu_instance, create_gpu_instance, create_compute };
enum class StepState { planned, doing, done };

struct StepRecord {
  int ordinal = 0;
  std::string gpu;  // UUID
  StepKind kind = StepKind::set_mode;
  bool enable = false;  // set_mode
  int profile = 0;      // NVML number, instance steps
  int start = 0;
  StepState state = StepState::planned;
};

struct Operation {
  std::int64_t id = 0;
  Epoch epoch;
  pid_t pid = 0;
  std::string command;
  bool forward = true;  // false: it is being rolled back
  bool skip_reset = false;
  std::vector<OperationGpu> gpus;
  std::vector<StepRecord> steps;
};

// A live instance as a record.
InstanceRecord instance_record(const catalog::Board& board, const layout::GpuInstance& instance);
// A live GPU as a record. Instances with a foreign pin are marked.
LayoutRecord record_of(const layout::Gpu& gpu);
LayoutRecord record_of(const catalog::Board& board, bool mig_enabled, const std::vector<layout::GpuInstance>& made);

// The target that leads a live GPU to a record. What was foreign and is gone stays gone; what is foreign and live
// stays; one that took the place of ours is `busy`, unless `over_foreign`. `driver` when the driver no longer offers a
// profile.
Result<layout::GpuTarget> target_of(const LayoutRecord& record, const layout::Gpu& live, bool over_foreign = false);

// Is the GPU exactly as recorded? Foreign instances do not count on either side. A pending mode counts as set when
// `pending_counts`.
bool is_as(const layout::Gpu& live, const LayoutRecord& record, bool pending_counts);

// The same wish in the indices of another board (the driver's own, once MIG is on). `driver` names a profile or a
// placement that the driver does not have.
Result<layout::GpuTarget> retarget(const layout::GpuTarget& target, const catalog::Board& from,
                                   const catalog::Board& to);

std::optional<int> profile_index(const catalog::Board& board, int nvml_profile);
std::optional<int> compute_index(const catalog::Profile& profile, int nvml_profile);

}  // namespace partita::node
