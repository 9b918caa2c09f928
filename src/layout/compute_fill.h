// Which compute instances share a GPU instance. Internal to layout/.
#pragma once

#include <vector>

#include "catalog/board.h"

namespace partita::layout {

// Can one GPU instance hold these (indices in Profile::compute) at once: placements and counts?
bool holds(const catalog::Profile& profile, const std::vector<int>& compute);

// The compute instances shared out over as few GPU instances as largest-first filling needs; each inner list ascends.
// Each alone fits (catalog data guarantee it).
std::vector<std::vector<int>> fill(const catalog::Profile& profile, std::vector<int> compute);

}  // namespace partita::layout
