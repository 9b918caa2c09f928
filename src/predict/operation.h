// A network as a list of operations at the granularity of an eager framework, per sample. What predictions are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace partita::predict {

// What an operation is bound to be like: which efficiency constants and how many passes over its activations apply.
enum class OperationKind {
  convolution,     // as a GEMM: M = output positions, N = output channels, K = input channels * kernel
  depthwise,       // grouped to one channel
  matmul,          // linear layers: weights are one operand
  batched_matmul,  // attention: both operands are activations
  batch_norm,
  layer_norm,
  activation,
  softmax,
  add,
  pool,
  concat,
  embedding,
  copy,
  dropout,
};

struct Operation {
  OperationKind kind = OperationKind::activation;
  std::string name = {};  // "bottleneck3.conv2", for explanations
  // GEMM shape per sample (convolution, depthwise, matmul, batched_matmul), else 0. `groups` GEMMs of this shape.
  double m = 0, n = 0, k = 0, groups = 1;
  double input_elements = 0;                          // activations read, per sample
  double output_elements = 0;                         // activations written, per sample
  double weight_elements = 0;                         // parameters read once per step, whatever the batch
  double parameter_elements = 0;                      // parameters that it owns (a table that is looked up, too)
  double parameter_tensors = 0;                       // in how many tensors they are
  bool fused_in_graph = false;                        // graph execution folds it into the operation before
  bool saved_for_backward = true;                     // its output is kept until the backward pass
  bool cached = false;                                // writes keys and values to a cache: has no backward pass
  double macs() const { return m * n * k * groups; }  // per sample
};

// Totals, to be compared with the published ones.
struct Totals {
  double macs = 0;  // per sample, multiply-accumulates
  double parameters = 0;
  double operations = 0;  // count
};
Totals totals(const std::vector<Operation>& operations);

}  // namespace partita::predict
