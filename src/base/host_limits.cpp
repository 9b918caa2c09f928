#include "base/host_limits.h"

#include <fmt/format.h>

namespace partita {

Result<void> check_host_limits(std::optional<double> cpus, std::optional<Bytes> memory) {
  if (cpus && !(*cpus >= kFewestCpus && *cpus <= kMostCpus))
    return fail(ErrorCode::invalid,
                fmt::format("a limit of {} processors: expected {} to {}", *cpus, kFewestCpus, kMostCpus));
  if (memory && *memory < kLeastHostMemory)
    return fail(ErrorCode::invalid, fmt::format("a limit of {} of memory: expected {} or more", to_string(*memory),
                                                to_string(kLeastHostMemory)));
  return {};
}

}  // namespace partita
