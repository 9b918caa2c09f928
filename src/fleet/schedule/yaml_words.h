// Values that all parts of fleet and demand files have. Errors name file, line and key.
#pragma once

#include <string>

#include "base/units.h"
#include "base/yaml.h"

namespace partita::fleet {

Result<std::string> read_name(const YamlPlace& place, const YamlNode& node);  // not empty
Result<Bytes> read_memory(const YamlPlace& place, const YamlNode& node);      // above 0

// An error about the value, told with its place.
Error yaml_error_of(const YamlPlace& place, const YamlNode& node, Error error);

}  // namespace partita::fleet
