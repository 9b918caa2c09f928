// The constants of calibrations: what remains after one by own points, and how a workload without architecture scales
// between two. From the same data set as all others. Internal to predict/.
#pragma once

#include <vector>

#include "predict/cases.h"
#include "predict/constants.h"

namespace partita::predict {

// `cases`: those that a fit uses, at the constants fitted so far. Constants of which there are too few rows stay as
// they are.
Result<void> fit_calibration(const std::vector<Case>& cases, Constants& constants);

}  // namespace partita::predict
