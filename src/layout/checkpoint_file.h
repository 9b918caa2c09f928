// The exact state of a node: mode, GPU instances with placements, compute instances, per GPU UUID. JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"

namespace partita::layout {

std::string write_checkpoint(const NodeState& node);

// The target that brings the node back to the checkpoint. `not_found` when a GPU of the checkpoint is gone or its
// board differs; profiles are matched by slices and attributes, so a driver's new spelling does no harm.
Result<NodeTarget> read_checkpoint(std::string_view text, const std::string& file, const NodeState& node);

}  // namespace partita::layout
