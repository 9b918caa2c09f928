// What must not be touched: busy by a process, foreign by the ledger.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "node/records.h"

namespace partita::node {

// A GPU instance whose destroy the driver answered with IN_USE: busy, whatever its process list says.
struct RefusedPlace {
  std::string gpu;  // UUID
  int start = 0;
};

// What a live lease has.
struct LeasedPlace {
  std::string gpu;  // UUID
  bool whole_gpu = false;
  int start = 0;     // of the GPU instance
  std::string text;  // "lease alice-train (alice, until 14:05)"
};

struct PinOptions {
  bool adopt = false;  // instances made by others count as ours
  std::span<const RefusedPlace> refused;
  std::span<const LeasedPlace> leased;
};

// Fills GpuInstance::pins of every instance and Gpu::pins anew. Whatever `owned` does not list is foreign, one without
// compute instances too.
void set_pins(layout::NodeState& state, std::span<const OwnedInstance> owned, const PinOptions& options);

bool is_foreign(const layout::GpuInstance& instance);
// It is known to be ours, whatever `owned` says.
void unpin_foreign(layout::GpuInstance& instance);

// The live instances that `owned` does not list, as they would be listed.
std::vector<OwnedInstance> foreign_instances(const layout::NodeState& state, std::span<const OwnedInstance> owned);
// The marks that no live instance bears out, on the GPUs whose state is known.
std::vector<OwnedInstance> stale_marks(const layout::NodeState& state, std::span<const OwnedInstance> owned);

// "pid 4711 (python)".
std::string to_string(const layout::Process& process);
// "3g.20gb@4: pid 4711 (python), not made by partita".
std::string describe_pins(const catalog::Board& board, const layout::GpuInstance& instance);
// "GPU 3".
std::string label(const layout::Gpu& gpu);

}  // namespace partita::node
