// The parts of a workload file (data/schemas/workload.schema.json). Internal to predict/.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.h"
#include "predict/workload.h"

namespace partita::predict {

// Title and other names of a workload, without building it.
struct WorkloadHead {
  std::string name, title;
  std::vector<std::string> aliases;
};
Result<WorkloadHead> read_head(const YamlDocument& document);

// Fills in what `operations:` (a list written by partita-onnx) gives.
Result<void> read_operations(const YamlPlace& root, const YamlNode& node, Workload& workload);

// "convolution", "batched_matmul".
std::string_view name(OperationKind kind);

}  // namespace partita::predict
