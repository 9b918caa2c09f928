// From how many GPUs take which option to instances at places. Inside fleet/ only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/exact/patterns.h"

namespace partita::fleet {

struct Chosen {
  int kind = 0;
  const Option* option = nullptr;
  std::int64_t count = 0;
};

// `served[class][want]`: how many instances serve. What stands serves first; what nobody needs is not created.
Result<std::vector<Group>> expand(const Fleet& fleet, const Classes& classes, const std::vector<Chosen>& chosen,
                                  const std::vector<std::vector<std::int64_t>>& served);

}  // namespace partita::fleet
