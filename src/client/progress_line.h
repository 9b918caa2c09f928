// The lines in which an apply tells what it does. Inside client/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/progress.h"

namespace partita::client {

// {"step", "steps", "what"} and {"note"} go to `progress`. {"result"} and {"error"} are the end: the result's text, or
// the error with its code.
std::optional<Result<std::string>> tell_line(std::string_view line, Progress& progress);

}  // namespace partita::client
