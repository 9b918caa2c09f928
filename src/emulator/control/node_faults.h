// The `faults` of a node file.
#pragma once

#include <vector>

#include "base/error.h"
#include "base/yaml.h"
#include "emulator/engine/fault.h"

namespace partita::emulator {

Result<std::vector<Fault>> read_faults(const YamlPlace& place, const YamlNode& node);

}  // namespace partita::emulator
