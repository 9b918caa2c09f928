// Which functions of NVML the emulated library answers, as the library itself tells.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace partita::emulator {

struct Coverage {
  struct Function {
    std::string name;
    bool implemented = false;  // false: answers NOT_SUPPORTED to whoever asks
  };
  std::string interface_version;    // NVIDIA's, "13.5.37"
  std::vector<Function> functions;  // by name
  int implemented = 0;
};

// `unavailable` when the library cannot be loaded or is another one.
Result<Coverage> coverage();

// A fault of a function that nobody can call would never show: not_found, unless it is "*" or a function of the
// library.
Result<void> check_function(const std::string& function);

}  // namespace partita::emulator
