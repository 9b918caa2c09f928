// The node file that a type names: one that the program brings, or the user's own.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace partita::emulator {

// "./lab.yaml", "/x/lab.yaml", "lab.yaml": anything with a '/' or that ends like a YAML or JSON file.
bool is_node_path(std::string_view type);

struct NodeSource {
  std::string type;  // "dgx-a100", or the absolute path of a file
  std::string file;  // as shown in errors
  std::string text;
};

// `not_found` names the known types.
Result<NodeSource> node_source(std::string_view type);

}  // namespace partita::emulator
