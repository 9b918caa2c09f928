// What testers put in the driver's way.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "emulator/engine/records.h"

namespace partita::emulator {

// A fault strikes matching calls: it takes time, raises an Xid, breaks the GPU, and answers instead of the driver, as
// far as it has these, in this order.
struct Fault {
  std::string function = "*";           // an NVML function, or any
  std::optional<int> gpu{};             // only calls about this GPU
  std::optional<int> calls{};           // strikes so often, then is gone; nullopt: until it is taken back
  std::optional<double> probability{};  // strikes each matching call with this chance, drawn from `seed`
  std::uint64_t seed = 0;

  struct Delay {
    std::chrono::milliseconds least{}, most{};  // drawn evenly, from `seed`
  };
  std::optional<Delay> delay{};
  std::optional<unsigned> xid{};
  std::optional<Condition> condition{};
  std::optional<int> answer{};  // an NVML return; with SUCCESS the call does nothing and says so

  // These two concern the driver, not a function: `function` is "*".
  std::optional<double> measured_times{};             // making and destroying GPU instances takes what was measured on
                                                      // hardware (ProfileSpec::create_ms), times this
  std::optional<std::chrono::milliseconds> linger{};  // so long after a process was seen to have ended, its instance is
                                                      // still in use
};

}  // namespace partita::emulator
