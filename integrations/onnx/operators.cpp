#include "onnx/operators.h"

#include <algorithm>
#include <initializer_list>

namespace partita::onnx_import {

namespace {

using predict::Handling;
using predict::Operation;
using predict::OperationKind;

enum class Way { operation, elementwise, view, gather };

struct Entry {
  std::string_view type;
  Way way;
  OperationKind kind = OperationKind::copy;
  Handling handling = {};
};

constexpr Handling kFromInput{.saves_inputs = true};
constexpr Handling kFromOutput{.saves_output = true};

constexpr Entry kEntries[] = {
    // activations; what their derivatives need is kept
    {"Relu", Way::operation, OperationKind::activation, {.in_place = true, .saves_output = true}},
    {"LeakyRelu", Way::operation, OperationKind::activation, kFromInput},
    {"PRelu", Way::operation, OperationKind::activation, kFromInput},
    {"Clip", Way::operation, OperationKind::activation, {.in_place = true, .saves_output = true}},
    {"Elu", Way::operation, OperationKind::activation, kFromInput},
    {"Selu", Way::operation, OperationKind::activation, kFromInput},
    {"Celu", Way::operation, OperationKind::activation, kFromInput},
    {"Softplus", Way::operation, OperationKind::activation, kFromInput},
    {"Softsign", Way::operation, OperationKind::activation, kFromInput},
    {"HardSigmoid", Way::operation, OperationKind::activation, kFromInput},
    {"HardSwish", Way::operation, OperationKind::activation, kFromInput},
    {"Gelu", Way::operation, OperationKind::activation, kFromInput},
    {"Swish", Way::operation, OperationKind::activation, kFromInput},
    {"Sigmoid", Way::operation, OperationKind::activation, kFromOutput},
    {"Tanh", Way::operation, OperationKind::activation, kFromOutput},
    {"Erf", Way::operation, OperationKind::activation, kFromInput},
    {"Exp", Way::operation, OperationKind::activation, kFromOutput},
    {"Log", Way::operation, OperationKind::activation, kFromInput},
    {"Sqrt", Way::operation, OperationKind::activation, kFromOutput},
    {"Reciprocal", Way::operation, OperationKind::activation, kFromOutput},
    {"Sin", Way::operation, OperationKind::activation, kFromInput},
    {"Cos", Way::operation, OperationKind::activation, kFromInput},
    {"Tan", Way::operation, OperationKind::activation, kFromInput},
    {"ThresholdedRelu", Way::operation, OperationKind::activation, kFromInput},
    {"Hardmax", Way::operation, OperationKind::softmax},
    {"IsInf", Way::operation, OperationKind::activation},
    {"IsNaN", Way::operation, OperationKind::activation},
    {"Trilu", Way::operation, OperationKind::activation},
    {"CastLike", Way::operation, OperationKind::activation},
    {"Abs", Way::operation, OperationKind::activation, kFromInput},
    {"Neg", Way::operation, OperationKind::activation},
    {"Floor", Way::operation, OperationKind::activation},
    {"Ceil", Way::operation, OperationKind::activation},
    {"Round", Way::operation, OperationKind::activation},
    {"Sign", Way::operation, OperationKind::activation},
    {"Not", Way::operation, OperationKind::activation},
    {"Cast", Way::operation, OperationKind::activation},
    {"QuantizeLinear", Way::operation, OperationKind::activation},
    {"DequantizeLinear", Way::operation, OperationKind::activation},
    // two operands: an addition, or one more pass where the other is a constant
    {"Add", Way::elementwise, OperationKind::add},
    {"Sub", Way::elementwise, OperationKind::add},
    {"Mul", Way::elementwise, OperationKind::add, kFromInput},
    {"Div", Way::elementwise, OperationKind::add, kFromInput},
    {"Pow", Way::elementwise, OperationKind::add, kFromInput},
    {"Max", Way::elementwise, OperationKind::add, kFromInput},
    {"Min", Way::elementwise, OperationKind::add, kFromInput},
    {"Sum", Way::elementwise, OperationKind::add},
    {"Mean", Way::elementwise, OperationKind::add},
    {"Where", Way::elementwise, OperationKind::add},
    {"Equal", Way::elementwise, OperationKind::add},
    {"Greater", Way::elementwise, OperationKind::add},
    {"GreaterOrEqual", Way::elementwise, OperationKind::add},
    {"Less", Way::elementwise, OperationKind::add},
    {"LessOrEqual", Way::elementwise, OperationKind::add},
    {"Mod", Way::elementwise, OperationKind::add},
    {"Xor", Way::elementwise, OperationKind::add},
    {"And", Way::elementwise, OperationKind::add},
    {"Or", Way::elementwise, OperationKind::add},
    // norms, pools and the rest
    {"BatchNormalization", Way::operation, OperationKind::batch_norm, kFromInput},
    {"LayerNormalization", Way::operation, OperationKind::layer_norm, kFromInput},
    {"InstanceNormalization", Way::operation, OperationKind::layer_norm, kFromInput},
    {"LpNormalization", Way::operation, OperationKind::layer_norm, kFromInput},
    {"LRN", Way::operation, OperationKind::layer_norm, kFromInput},
    {"Softmax", Way::operation, OperationKind::softmax, kFromOutput},
    {"LogSoftmax", Way::operation, OperationKind::softmax, kFromOutput},
    {"MaxPool", Way::operation, OperationKind::pool, kFromInput},
    {"AveragePool", Way::operation, OperationKind::pool, kFromInput},
    {"GlobalAveragePool", Way::operation, OperationKind::pool, kFromInput},
    {"GlobalMaxPool", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceMean", Way::operation, OperationKind::pool},
    {"ReduceSum", Way::operation, OperationKind::pool},
    {"ReduceMax", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceMin", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceL2", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceL1", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceProd", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceSumSquare", Way::operation, OperationKind::pool, kFromInput},
    {"ReduceLogSumExp", Way::operation, OperationKind::pool, kFromInput},
    {"ArgMin", Way::operation, OperationKind::pool},
    {"ArgMax", Way::operation, OperationKind::pool},
    {"CumSum", Way::operation, OperationKind::pool},
    {"TopK", Way::operation, OperationKind::pool},
    {"Resize", Way::operation, OperationKind::copy},
    {"Upsample", Way::operation, OperationKind::copy},
    {"Concat", Way::operation, OperationKind::concat},
    {"Transpose", Way::operation, OperationKind::copy},
    {"Pad", Way::operation, OperationKind::copy},
    {"Tile", Way::operation, OperationKind::copy},
    {"DepthToSpace", Way::operation, OperationKind::copy},
    {"SpaceToDepth", Way::operation, OperationKind::copy},
    {"ScatterND", Way::operation, OperationKind::copy},
    {"ScatterElements", Way::operation, OperationKind::copy},
    {"GatherND", Way::operation, OperationKind::copy},
    {"OneHot", Way::operation, OperationKind::copy},
    {"GatherElements", Way::operation, OperationKind::copy},
    {"Dropout", Way::operation, OperationKind::dropout, {.none_in_inference = true}},
    {"Gather", Way::gather},
    // the same data seen otherwise
    {"Reshape", Way::view},
    {"Flatten", Way::view},
    {"Squeeze", Way::view},
    {"Unsqueeze", Way::view},
    {"Identity", Way::view},
    {"Slice", Way::view},
    {"Split", Way::view},
    {"Expand", Way::view},
};

void gather(Importer& importer, const onnx::NodeProto& node) {
  if (!importer.model.is_constant(node.input(0))) return importer.view(node);  // a row or a token taken out
  Operation operation{.kind = OperationKind::embedding};
  operation.input_elements = importer.shape_of(node.output(0)).elements();
  importer.put(node, std::move(operation), {});
}

}  // namespace

long long integer(const onnx::NodeProto& node, std::string_view attribute, long long otherwise) {
  for (const auto& value : node.attribute())
    if (value.name() == attribute) return value.i();
  return otherwise;
}

predict::Shape Importer::shape_of(const std::string& tensor) const {
  const Dims* dims = model.shape(tensor);
  return {predict::Shape::Kind::tokens, dims ? elements(*dims) / model.batch : 0, 1, 1};
}

std::vector<predict::TensorId> Importer::activations(const onnx::NodeProto& node) const {
  std::vector<predict::TensorId> out;
  for (const std::string& input : node.input())
    if (const auto found = tensors.find(input); found != tensors.end()) out.push_back(found->second);
  return out;
}

void Importer::add_parameters(const onnx::NodeProto& node, Operation& operation) {
  // A batch norm's running mean and variance are no parameters.
  const int count = node.op_type() == "BatchNormalization" ? std::min(node.input_size(), 3) : node.input_size();
  for (int i = 0; i < count; ++i) {
    const auto found = model.constants.find(node.input(i));
    if (found == model.constants.end() || found->second.elements <= 1) continue;  // a single number is no weight
    if (operation.kind != OperationKind::embedding) operation.weight_elements += found->second.elements;
    if (!counted.insert(found->second.origin).second) continue;
    operation.parameter_elements += found->second.elements;
    operation.parameter_tensors += 1;
  }
}

void Importer::put(const onnx::NodeProto& node, Operation operation, Handling handling) {
  operation.name = node.name().empty() ? node.output(0) : node.name();
  add_parameters(node, operation);
  std::vector<predict::TensorId> inputs = activations(node);
  if (inputs.empty()) inputs.push_back(0);
  const predict::Shape out = shape_of(node.output(0));
  if (handling.in_place && graph.shape(inputs.front()).elements() != out.elements()) handling.in_place = false;
  tensors[node.output(0)] = graph.add(std::move(operation), inputs, out, handling);
}

void Importer::view(const onnx::NodeProto& node) {
  const std::vector<predict::TensorId> inputs = activations(node);
  for (const std::string& output : node.output())
    if (!output.empty()) tensors[output] = graph.view(inputs.empty() ? 0 : inputs.front(), shape_of(output));
}

bool import_node(Importer& importer, const onnx::NodeProto& node) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  if (import_product(importer, node)) return true;
  const auto entry = std::ranges::find(kEntries, node.op_type(), &Entry::type);
  if (entry == std::end(kEntries) || node.input_size() == 0) return false;
  switch (entry->way) {
    case Way::view:
      importer.view(node);
      return true;
    case Way::gather:
      gather(importer, node);
      return true;
    case Way::elementwise: {
      const bool both = importer.activations(node).size() > 1;
      importer.put(node, {.kind = both ? entry->kind : OperationKind::activation}, entry->handling);
      return true;
    }
    case Way::operation:
      importer.put(node, {.kind = entry->kind}, entry->handling);
      return true;
  }
  return false;
}

}  // namespace partita::onnx_import
