// Operators that multiply matrices.
#include "onnx/operators.h"

namespace partita::onnx_import {

namespace {

using predict::Operation;
using predict::OperationKind;

constexpr predict::Handling kSaved{.saves_inputs = true};

// Product of the sizes behind the first `skip`.
double product_from(const Dims& dims, std::size_t skip) {
  double out = 1;
  for (std::size_t i = skip; i < dims.size(); ++i) out *= dims[i];
  return out;
}

// weights: [out, in / groups, kernel...]; transposed: [in, out / groups, kernel...].
bool convolution(Importer& importer, const onnx::NodeProto& node, bool transposed) {
  if (node.input_size() < 2) return false;
  const Dims *input = importer.model.shape(node.input(0)), *weights = importer.model.shape(node.input(1)),
             *output = importer.model.shape(node.output(0));
  if (!input || !weights || !output || input->size() < 3 || weights->size() < 3 || output->size() < 3) return false;
  const double groups = static_cast<double>(integer(node, "group", 1));
  const double channels = (*input)[1];
  if (groups < 1 || channels < groups) return false;
  Operation operation;
  operation.kind = groups > 1 && groups == channels ? OperationKind::depthwise : OperationKind::convolution;
  operation.groups = groups;
  const double samples = (*(transposed ? input : output))[0] / importer.model.batch;
  operation.m = samples * product_from(transposed ? *input : *output, 2);
  operation.n = transposed ? product_from(*weights, 1) : (*weights)[0] / groups;
  operation.k = transposed ? channels / groups : product_from(*weights, 1);
  importer.put(node, std::move(operation), kSaved);
  return true;
}

bool gemm(Importer& importer, const onnx::NodeProto& node) {
  if (node.input_size() < 2) return false;
  const Dims *weights = importer.model.shape(node.input(1)), *output = importer.model.shape(node.output(0));
  if (!weights || !output || weights->size() != 2 || output->size() != 2) return false;
  const bool transposed = integer(node, "transB", 0) != 0;
  Operation operation{.kind = OperationKind::matmul};
  operation.m = (*output)[0] / importer.model.batch;
  operation.n = (*weights)[transposed ? 0 : 1];
  operation.k = (*weights)[transposed ? 1 : 0];
  importer.put(node, std::move(operation), kSaved);
  return true;
}

bool matmul(Importer& importer, const onnx::NodeProto& node) {
  if (node.input_size() < 2) return false;
  const Dims *left = importer.model.shape(node.input(0)), *right = importer.model.shape(node.input(1)),
             *output = importer.model.shape(node.output(0));
  if (!left || !right || !output || left->empty() || right->size() < 2 || output->empty()) return false;
  Operation operation;
  operation.k = left->back();
  operation.n = right->back();
  const double rows = elements(*output) / importer.model.batch / operation.n;
  if (importer.model.is_constant(node.input(1)) || importer.model.is_constant(node.input(0))) {
    operation.kind = OperationKind::matmul;
    operation.m = rows;
  } else {
    operation.kind = OperationKind::batched_matmul;
    operation.m = left->size() < 2 ? 1 : (*left)[left->size() - 2];
    operation.groups = rows / operation.m;
  }
  importer.put(node, std::move(operation), kSaved);
  return true;
}

}  // namespace

bool import_product(Importer& importer, const onnx::NodeProto& node) {
  const std::string& type = node.op_type();
  if (type == "Conv") return convolution(importer, node, false);
  if (type == "ConvTranspose") return convolution(importer, node, true);
  if (type == "Gemm") return gemm(importer, node);
  if (type == "MatMul") return matmul(importer, node);
  return false;
}

}  // namespace partita::onnx_import
