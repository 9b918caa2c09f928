// Rule 4 for leases: what is short, who is in the way, and the cheapest that would help. Inside lease/ only.
#pragma once

#include "lease/choose.h"
#include "lease/shapes.h"

namespace partita::lease {

// Why search() found nothing: `no_space`.
Error explain_no_place(const layout::NodeState& state, const api::Requirement& requirement,
                       const Constraints& constraints, const Shapes& shapes, Geometries& geometries);

}  // namespace partita::lease
