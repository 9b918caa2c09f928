// Which of a laboratory's rows stand for the points that a user would measure: what calibrations are fitted and
// validated with. Internal to predict/.
#pragma once

#include <cstddef>
#include <vector>

#include "predict/calibration.h"
#include "predict/cases.h"

namespace partita::predict {

// One process on an otherwise idle GPU, measured, and not left out.
bool alone(const Measurement& measured);

Point point_of(const Case& one);

// Of `rows` of one group: the largest partition with its largest batch; where three are wanted also that one with its
// smallest batch, and the smallest partition with its largest. Fewer where these are the same rows.
std::vector<std::size_t> own_points(const std::vector<Case>& cases, const std::vector<Device>& devices,
                                    const std::vector<std::size_t>& rows, std::size_t wanted);

// Of `rows` that differ only in the partition: the largest one, the smallest, and those between; none where all are as
// large.
struct Sizes {
  std::size_t largest = 0, smallest = 0;
  std::vector<std::size_t> between;
};
Sizes sizes_of(const std::vector<Device>& devices, const std::vector<std::size_t>& rows);

}  // namespace partita::predict
