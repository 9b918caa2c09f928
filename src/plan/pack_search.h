// One option for each GPU so that every need is met: the combination of pack(). Inside plan/ only.
#pragma once

#include <optional>
#include <vector>

#include "plan/pack_problem.h"

namespace partita::plan {

// Parallel to PackProblem::bins. Exact in order: fewest GPU instances destroyed, fewest GPUs touched, most whole GPUs
// left free, fewest compute instances destroyed, most placements open. nullopt when the need cannot be met.
std::optional<std::vector<Option>> combine(const PackProblem& problem);

// Can the need be met at all?
bool feasible(const PackProblem& problem);

}  // namespace partita::plan
