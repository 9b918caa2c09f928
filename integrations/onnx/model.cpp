#include "onnx/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace partita::onnx_import {

namespace {

constexpr int kMaxNodes = 100'000;
constexpr double kMaxElements = 1e13;

std::unexpected<Error> wrong(const std::string& file, std::string_view message) {
  return fail(ErrorCode::invalid, fmt::format("{}: {}", file, message));
}

std::string label(const onnx::NodeProto& node) {
  const std::string first = node.output_size() > 0 ? node.output(0) : "";
  return fmt::format("{} {}", one_line(node.op_type(), 40), quote(node.name().empty() ? first : node.name()));
}

Result<void> parse(std::string_view bytes, const std::string& file, onnx::ModelProto& proto) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return wrong(file, "larger than 2 GiB; export with external data (the weights' values are not needed)");
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!proto.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage() || !proto.has_graph())
    return wrong(file, "not an ONNX model, or cut short");
  if (proto.graph().node_size() == 0) return wrong(file, "the graph has no nodes");
  if (proto.graph().node_size() > kMaxNodes)
    return wrong(file,
                 fmt::format("the graph has {} nodes, at most {} are taken", proto.graph().node_size(), kMaxNodes));
  return {};
}

std::set<std::string> initializers(const onnx::GraphProto& graph) {
  std::set<std::string> out;
  for (const auto& tensor : graph.initializer()) out.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) out.insert(tensor.values().name());
  return out;
}

// The inputs' named sizes are filled in: the batch with 1, the others as asked.
Result<void> fix_inputs(const std::string& file, const Options& options, onnx::GraphProto& graph, Model& model) {
  const std::set<std::string> weights = initializers(graph);
  std::set<std::string> unused;
  for (const auto& [name, size] : options.dimensions) unused.insert(name);
  for (auto& input : *graph.mutable_input()) {
    if (weights.contains(input.name())) continue;
    if (!input.type().has_tensor_type() || !input.type().tensor_type().has_shape())
      return wrong(file, fmt::format("input {}: expected a tensor with a shape", quote(input.name())));
    model.inputs.push_back(input.name());
    auto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      auto& dim = *shape.mutable_dim(i);
      if (dim.has_dim_value() && dim.dim_value() > 0) continue;
      const std::string name = dim.dim_param();
      const auto asked = options.dimensions.find(name);
      unused.erase(name);
      if (asked == options.dimensions.end() && i != 0)
        return wrong(file,
                     fmt::format("input {}: dimension {} has no size; {}", quote(input.name()),
                                 name.empty() ? fmt::format("{}", i) : fmt::format("{} ({})", i, one_line(name, 40)),
                                 name.empty() ? std::string("export the model with a fixed one")
                                              : fmt::format("give one with --set {}=N", one_line(name, 40))));
      dim.set_dim_value(asked == options.dimensions.end() ? 1 : asked->second);
    }
  }
  if (!unused.empty())
    return wrong(file, fmt::format("no input has a dimension {} without a size", quote(*unused.begin())));
  if (model.inputs.empty()) return wrong(file, "the graph has no inputs");
  return {};
}

// Each node after what it reads; kept as it is where it already is so.
Result<void> sort(const std::string& file, const onnx::GraphProto& graph, Model& model) {
  std::set<std::string> known = initializers(graph);
  known.insert("");  // an optional input that is left out
  for (const auto& input : graph.input()) known.insert(input.name());
  std::map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& output : graph.node(i).output())
      if (!output.empty() && (known.contains(output) || !producer.emplace(output, i).second))
        return wrong(file, fmt::format("tensor {} is produced twice", quote(output)));
  std::vector<int> waits(static_cast<std::size_t>(graph.node_size()));
  std::vector<std::vector<int>> readers(waits.size());
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string& input : graph.node(i).input()) {
      if (known.contains(input)) continue;
      const auto from = producer.find(input);
      if (from == producer.end())
        return wrong(file, fmt::format("{} reads {}, which no node, input or initializer gives", label(graph.node(i)),
                                       quote(input)));
      ++waits[static_cast<std::size_t>(i)];
      readers[static_cast<std::size_t>(from->second)].push_back(i);
    }
  std::set<int> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (waits[static_cast<std::size_t>(i)] == 0) ready.insert(i);
  while (!ready.empty()) {
    const int i = *ready.begin();
    ready.erase(ready.begin());
    model.order.push_back(&graph.node(i));
    for (const int reader : readers[static_cast<std::size_t>(i)])
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
  }
  const auto stuck = std::ranges::find_if(waits, [](int n) { return n > 0; });
  if (stuck != waits.end())
    return wrong(file, fmt::format("the graph has a cycle; {} is in it or behind it",
                                   label(graph.node(static_cast<int>(stuck - waits.begin())))));
  return {};
}

// The library wants nodes in order.
void reorder(onnx::ModelProto& proto, Model& model) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
  for (const onnx::NodeProto* node : model.order) *sorted.Add() = *node;
  proto.mutable_graph()->mutable_node()->Swap(&sorted);
  model.order.clear();
  for (const auto& node : proto.graph().node()) model.order.push_back(&node);
}

// Shape inference divides by some attributes, and counts to one, without a look at them.
Result<void> check_attribute(const std::string& file, const onnx::NodeProto& node, const onnx::AttributeProto& it) {
  static const std::set<std::string> kAboveZero{"strides", "dilations", "kernel_shape", "group", "blocksize"};
  const auto complain = [&](std::string_view expected, std::int64_t found) {
    return wrong(file, fmt::format("{}: {}: expected {}, found {}", label(node), it.name(), expected, found));
  };
  if (it.name() == "num_scan_inputs" && (it.i() < 0 || it.i() > node.input_size()))
    return complain("no more than it has inputs", it.i());
  if (!kAboveZero.contains(it.name())) return {};
  std::vector<std::int64_t> values(it.ints().begin(), it.ints().end());
  if (it.has_i()) values.push_back(it.i());
  const auto bad = std::ranges::find_if(values, [](std::int64_t value) { return value < 1; });
  if (bad != values.end()) return complain("numbers above 0", *bad);
  return {};
}

Result<void> check_attributes(const std::string& file, const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) TRY_VOID(check_attributes(file, attribute.g()));
      for (const auto& inner : attribute.graphs()) TRY_VOID(check_attributes(file, inner));
      if (standard) TRY_VOID(check_attribute(file, node, attribute));
    }
  }
  return {};
}

Result<void> infer(const std::string& file, onnx::ModelProto& proto) {
  proto.mutable_graph()->clear_value_info();  // sizes there belong to the batch that was exported
  for (auto& output : *proto.mutable_graph()->mutable_output())
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  try {
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(false, 0, true));
  } catch (const std::exception& error) {
    return wrong(file, fmt::format("shapes cannot be inferred: {}", one_line(error.what(), 300)));
  }
  return {};
}

Result<void> note_shape(const std::string& file, const onnx::ValueInfoProto& value, Model& model) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return {};
  Dims dims;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0) return {};
    dims.push_back(static_cast<double>(dim.dim_value()));
  }
  if (elements(dims) > kMaxElements) return wrong(file, fmt::format("tensor {} is too large", quote(value.name())));
  model.shapes[value.name()] = std::move(dims);
  return {};
}

Result<void> note_shapes(const std::string& file, const onnx::GraphProto& graph, Model& model) {
  for (const auto& value : graph.input()) TRY_VOID(note_shape(file, value, model));
  for (const auto& value : graph.output()) TRY_VOID(note_shape(file, value, model));
  for (const auto& value : graph.value_info()) TRY_VOID(note_shape(file, value, model));
  for (const auto& tensor : graph.initializer()) {
    Dims dims(tensor.dims().begin(), tensor.dims().end());
    if (std::ranges::any_of(dims, [](double d) { return d < 0; }) || elements(dims) > kMaxElements)
      return wrong(file, fmt::format("initializer {}: its shape is not possible", quote(tensor.name())));
    model.constants[tensor.name()] = {elements(dims), tensor.name()};
    model.shapes[tensor.name()] = std::move(dims);
  }
  return {};
}

// The constants' largest input is what a folded node's result is made of; nullopt where an input is no constant.
std::optional<Constant> fold(const Model& model, const onnx::NodeProto& node) {
  if (node.op_type() == "Constant" || node.op_type() == "Shape" || node.op_type() == "Size") return Constant{};
  if (node.input_size() == 0 || node.op_type().find("Random") != std::string::npos) return std::nullopt;
  Constant out;
  for (const std::string& input : node.input()) {
    if (input.empty()) continue;
    const auto found = model.constants.find(input);
    if (found == model.constants.end()) return std::nullopt;
    if (found->second.elements > out.elements) out = found->second;
  }
  return out;
}

// What depends on constants and shapes only is worked out once, on the host.
void fold_constants(Model& model) {
  for (const onnx::NodeProto* node : model.order) {
    const std::optional<Constant> folded = fold(model, *node);
    if (!folded) continue;
    for (const auto& attribute : node->attribute())
      if (node->op_type() == "Constant" && attribute.has_t())
        model.shapes[node->output(0)] = Dims(attribute.t().dims().begin(), attribute.t().dims().end());
    for (const std::string& output : node->output()) {
      const Dims* dims = model.shape(output);
      const double size = dims ? elements(*dims) : folded->elements;
      model.constants[output] = {size, folded->elements < size ? output : folded->origin};
    }
  }
}

}  // namespace

double elements(const Dims& dims) {
  double product = 1;
  for (const double dim : dims) product *= dim;
  return product;
}

const Dims* Model::shape(const std::string& tensor) const {
  const auto found = shapes.find(tensor);
  return found == shapes.end() ? nullptr : &found->second;
}

Result<Model> load(std::string_view bytes, const std::string& file, const Options& options) {
  Model model;
  TRY_VOID(parse(bytes, file, model.proto));
  TRY_VOID(fix_inputs(file, options, *model.proto.mutable_graph(), model));
  TRY_VOID(sort(file, model.proto.graph(), model));
  reorder(model.proto, model);
  TRY_VOID(check_attributes(file, model.proto.graph()));
  TRY_VOID(infer(file, model.proto));
  model.order.clear();
  for (const auto& node : model.proto.graph().node()) model.order.push_back(&node);
  TRY_VOID(note_shapes(file, model.proto.graph(), model));
  fold_constants(model);
  const Dims* first = model.shape(model.inputs.front());
  if (!first || elements(*first) == 0)
    return wrong(file, fmt::format("input {} is empty", quote(model.inputs.front())));
  model.batch = first->empty() ? 1 : first->front();
  return model;
}

}  // namespace partita::onnx_import
