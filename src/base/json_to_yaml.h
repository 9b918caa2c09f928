// The same answer as YAML: JSON text in, YAML text out (block style, order kept).
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace partita {

Result<std::string> json_to_yaml(std::string_view json);

}  // namespace partita
