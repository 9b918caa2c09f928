// What verbs print that have nothing to show but that it is done.
#pragma once

#include <string_view>

#include "cli/common.h"

namespace partita::cli {

// The sentence for people ("lab has rebooted"), {"done": sentence} for programs.
Result<void> print_done(Format format, std::string_view sentence);

}  // namespace partita::cli
