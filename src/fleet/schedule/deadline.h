// Deadlines that no number of GPUs meets. Inside fleet/ only.
#pragma once

#include "fleet/schedule/batch_plan.h"

namespace partita::fleet {

// `no_space` names the job that alone, on its fastest instance from its release on, ends after the deadline.
Result<void> check_deadline(const Room& room, const BatchFile& file,
                            const std::vector<std::vector<ReconfigureTime>>& times);

}  // namespace partita::fleet
