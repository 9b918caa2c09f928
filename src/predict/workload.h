// A workload: a network's architecture (data/workloads/*.yaml; schema: data/schemas/workload.schema.json; or the user's
// own file, or one that partita-onnx wrote) and how it is run. Text in, struct out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "predict/operation.h"

namespace partita::predict {

enum class Mode { inference, training };
enum class Precision { fp32, tf32, fp16, bf16, int8, fp8 };
enum class Framework { eager_overlapped, eager_serial, graph };  // host launches run ahead, wait each, or are replayed
enum class Optimizer { sgd, sgd_momentum, adam };

// How a workload is run. Everything that the architecture does not say.
struct Settings {
  Mode mode = Mode::inference;
  int batch = 1;
  std::optional<int> sequence;  // tokens; nullopt: the workload's default
  Precision matmul = Precision::tf32, convolution = Precision::tf32;
  Framework framework = Framework::eager_overlapped;
  Optimizer optimizer = Optimizer::sgd_momentum;
  bool copy_inside_step = false;  // the input's host-to-device copy is part of the timed step
  int processes = 1;              // MPS processes of the same workload inside the partition
};

struct Workload {
  std::string name;             // "resnet50"
  std::string title;            // "ResNet-50 v1.5"
  std::string unit = "images";  // what a sample is: "images", "sequences", "tokens"
  std::string source;
  bool has_sequence = false;
  int default_sequence = 0;
  double input_bytes_per_sample = 0;
  std::vector<Operation> operations;  // forward, for default_sequence
  double peak_live_elements = 0;      // largest sum of live activations per sample, forward
  double saved_elements = 0;          // activations kept for the backward pass, per sample
  double parameters = 0;
  double parameter_tensors = 0;
};

// A workload file at a sequence length (nullopt: its default). `invalid` names file, line and key.
Result<Workload> read_workload(std::string_view text, const std::string& file,
                               std::optional<int> sequence = std::nullopt);

// The shipped ones: names and titles.
struct WorkloadEntry {
  std::string name, title;
};
std::vector<WorkloadEntry> shipped_workloads();
// `not_found` with the nearest names.
Result<Workload> shipped_workload(std::string_view name, std::optional<int> sequence = std::nullopt);

}  // namespace partita::predict
