// Exporters write what a framework runs as one kernel as several nodes; here they become one again. Internal.
#pragma once

#include <onnx/onnx_pb.h>

#include <vector>

#include "onnx/model.h"

namespace partita::onnx_import {

// The model's nodes in order, with these put together where nothing else reads what is between:
// layer norm and RMS norm (LayerNormalization), GELU by erf or tanh (Gelu), x * sigmoid(x) (Swish), and a product
// followed by its bias (the product with one more input).
std::vector<onnx::NodeProto> join_patterns(const Model& model);

}  // namespace partita::onnx_import
