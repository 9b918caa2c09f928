// Rules of thumb that predictions are compared with: the time on a partition from the time on a larger one.
#pragma once

#include <array>
#include <string_view>

#include "predict/step.h"

namespace partita::predict {

struct NaiveRule {
  std::string_view name;
  double (*time_factor)(const Device& reference,
                        const Device& partition);  // time on the partition over the reference's
};
// SM share, memory share, the larger of both times.
const std::array<NaiveRule, 3>& naive_rules();

}  // namespace partita::predict
