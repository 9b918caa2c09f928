// Values that all parts of fleet and demand files have. Errors name file, line and key.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/yaml.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

Result<std::string> read_name(const YamlPlace& place, const YamlNode& node);  // not empty
Result<Bytes> read_memory(const YamlPlace& place, const YamlNode& node);      // above 0

// Kind and profile of each board that has the profile of this name (servers_by_name). `boards`: only these, empty: all.
Result<std::vector<Server>> read_servers(const YamlPlace& place, const YamlNode& node, const Fleet& fleet,
                                         const std::string& name, const std::set<std::string>& boards = {});

}  // namespace partita::fleet
