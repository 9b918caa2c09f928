// An architecture description (docs: data/schemas/workload.schema.json) turned into the operations that an eager
// framework runs. Layers are applied one after the other to one tensor; `add`, `multiply`, `concat` and `residual`
// branch. Internal to predict/.
#pragma once

#include "base/yaml.h"
#include "predict/architecture_graph.h"

namespace partita::predict {

// `blocks`: the mapping of named layer lists, or nullptr. `sequence`: the value of $sequence, or 0 where there is none.
// `invalid` names file, line and key: unknown layers, shapes that do not match, networks beyond the limits below.
Result<Graph> build_graph(const YamlPlace& root, const YamlNode& input, const YamlNode* blocks, const YamlNode& layers,
                          int sequence);

inline constexpr std::size_t kMaxOperations = 100'000;
inline constexpr double kMaxElements = 1e13;  // of one tensor, and MACs of one operation times 1e5

}  // namespace partita::predict
