// Faults as people write them, on the command line and in node files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "emulator/engine/fault.h"

namespace partita::emulator {

// "50ms", or "10ms..80ms" for delays drawn between the two.
Result<Fault::Delay> parse_delay(std::string_view text);

// "good", "lost", "off-bus", "reset-required".
Result<Condition> parse_condition(std::string_view text);
std::string condition_name(Condition condition);

// Why there cannot be such a fault; nullopt when there can.
std::optional<std::string> impossible(const Fault& fault);

// A fault that does not say how often: a delay stays, and so does what strikes by chance; others strike once.
bool strikes_once(const Fault& fault);

// "the next 2 calls of nvmlDeviceGetName for GPU 1 will return IN_USE"
std::string describe(const Fault& fault);

}  // namespace partita::emulator
