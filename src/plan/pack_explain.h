// Why a demand does not fit on a node, and what would help. Inside plan/ only.
#pragma once

#include <span>

#include "base/error.h"
#include "plan/pack_problem.h"

namespace partita::plan {

Error explain_no_pack(std::span<const layout::Gpu> gpus, std::span<const DemandItem> demand,
                      const PackProblem& problem);

}  // namespace partita::plan
