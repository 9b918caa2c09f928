// NVML's return numbers and function names, as people write them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace partita::emulator {

// By name ("IN_USE", "NVML_ERROR_IN_USE", any case) or number. `invalid` names the nearest.
Result<int> parse_nvml_return(std::string_view text);

// "IN_USE"; the number when it has no name.
std::string nvml_return_name(int value);

// "*", or a name such as nvmlDeviceCreateGpuInstance.
bool is_nvml_function(std::string_view name);

}  // namespace partita::emulator
