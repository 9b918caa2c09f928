// What programs can be held to on the host: the kernel takes no less.
#pragma once

#include <optional>

#include "base/error.h"
#include "base/units.h"

namespace partita {

inline constexpr double kFewestCpus = 0.01, kMostCpus = 1e6;  // in processors; 0.01 is a quota of 1 ms each 100 ms
inline constexpr Bytes kLeastHostMemory = mib(1);

// `invalid` for what is outside of that.
Result<void> check_host_limits(std::optional<double> cpus, std::optional<Bytes> memory);

}  // namespace partita
