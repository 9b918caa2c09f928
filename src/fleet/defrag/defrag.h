// Defragmentation: which instances to re-create where, so that the most room appears. Exact: the most room within the
// number of moves, then the fewest moves that a holder notices, then the fewest moves, then the most room for
// all profiles.
//
// GPUs that are alike cost one row of the integer program, so fleets cost by kinds of GPU, not by their number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"
#include "fleet/solver/integer_program.h"
#include "plan/geometry.h"

namespace partita::fleet {

struct DefragInstance {
  // fixed: stays. idle: nobody has it. held: somebody has it, and it may be moved nevertheless.
  enum class Is { fixed, idle, held };
  plan::Placed placed;
  Is is = Is::fixed;
  auto operator<=>(const DefragInstance&) const = default;
};

struct DefragGpu {
  std::shared_ptr<const catalog::Board> board;  // instances move between GPUs of one board only
  std::vector<DefragInstance> instances;        // by start
  std::optional<int> wanted;                    // the profile that room is made for; see DefragGoal
};

struct DefragGoal {
  // Room for instances of each GPU's `wanted` profile; else for all profiles without attributes: how many of each would
  // fit, were it alone, times its memory slices.
  bool named = false;
  std::int64_t enough = -1;      // with `named`: more room than this is worth nothing; -1: as much as there can be
  std::int64_t most_moves = -1;  // -1: any number
};

struct DefragMove {
  int from = 0, to = 0;  // GPUs, by position
  plan::Placed before, after;
  DefragInstance::Is is = DefragInstance::Is::idle;
  bool operator==(const DefragMove&) const = default;
};

struct DefragPlan {
  std::vector<DefragMove> moves;  // by GPU and start they come from
  std::int64_t room_before = 0, room_after = 0;
  std::int64_t held_moved = 0;
  bool proven = false;  // no plan is better
};

// `invalid` when a GPU holds what its board does not allow, or there are too many ways to cut it.
Result<DefragPlan> defragment(const std::vector<DefragGpu>& gpus, const DefragGoal& goal,
                              const WorkLimits& limits = {});

}  // namespace partita::fleet
