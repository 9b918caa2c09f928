// Any bytes: a bounded tree or one clear error.
#include "base/yaml.h"

#include "fuzz.h"

namespace {

void walk(const partita::YamlNode& node, int depth, int& nodes) {
  partita::fuzz::require(depth <= 64 && ++nodes <= 10'000, "the limits hold");
  for (const auto& item : node.items) walk(item, depth + 1, nodes);
  for (std::size_t i = 0; i < node.members.size(); ++i) {
    partita::fuzz::require(node.find(node.members[i].first) == &node.members[i].second, "no key is given twice");
    walk(node.members[i].second, depth + 1, nodes);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document =
      partita::parse_yaml(partita::fuzz::text_of(data, size), "f", {.max_bytes = 1 << 22, .max_nodes = 10'000});
  int nodes = 0;
  if (partita::fuzz::accepted(document)) walk(document->root, 0, nodes);
  return 0;
}
