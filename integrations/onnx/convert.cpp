#include "onnx/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "onnx/operators.h"
#include "onnx/patterns.h"
#include "onnx/write.h"

namespace partita::onnx_import {

namespace {

// What is known about operators of one type that were not taken over.
struct Missing {
  std::string first;
  std::size_t count = 0;
  double weights = 0, activations = 0;
  bool unknown_shape = false;
};

void note(std::map<std::string, Missing>& missing, const Importer& importer, const onnx::NodeProto& node) {
  Missing& entry = missing[node.op_type()];
  if (entry.count++ == 0) entry.first = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  for (const std::string& input : node.input()) {
    const auto constant = importer.model.constants.find(input);
    if (constant != importer.model.constants.end())
      entry.weights += constant->second.elements;
    else
      entry.activations += importer.shape_of(input).elements();
  }
  for (const std::string& output : node.output()) {
    if (!output.empty() && !importer.model.shape(output)) entry.unknown_shape = true;
    entry.activations += importer.shape_of(output).elements();
  }
}

std::string describe(const std::string& type, const Missing& missing) {
  std::string out = fmt::format(
      "{} x {} (first: {}): about {:.3g} M weights and {:.3g} M activations read or written per sample", missing.count,
      one_line(type, 40), one_line(missing.first, 60), missing.weights / 1e6, missing.activations / 1e6);
  if (missing.weights > 0) out += fmt::format("; at least {:.3g} MMAC", missing.weights / 1e6);
  if (missing.unknown_shape) out += "; some shapes are not known";
  return out;
}

// A tensor that nothing was made for: what follows reads it from memory all the same.
void stand_in(Importer& importer, const onnx::NodeProto& node) {
  for (const std::string& output : node.output())
    if (!output.empty()) importer.tensors[output] = importer.graph.source(importer.shape_of(output));
}

// Tensors that some node or the graph's user reads.
std::set<std::string> read_tensors(const Model& model) {
  std::set<std::string> out;
  for (const auto& output : model.proto.graph().output()) out.insert(output.name());
  for (const onnx::NodeProto* node : model.order) out.insert(node->input().begin(), node->input().end());
  return out;
}

// Outputs that nobody reads (the mask of a dropout) need no shape.
bool shapes_known(const Model& model, const std::set<std::string>& read, const onnx::NodeProto& node) {
  return node.output_size() > 0 && model.shape(node.output(0)) &&
         std::ranges::all_of(node.output(), [&](const std::string& output) {
           return !read.contains(output) || output.empty() || model.shape(output);
         });
}

}  // namespace

Result<Conversion> convert(std::string_view bytes, const std::string& file, const Options& options) {
  const Model model = TRY(load(bytes, file, options));
  Importer importer{model, {}, {}, {}};
  for (const std::string& input : model.inputs)
    importer.tensors[input] = importer.graph.source(importer.shape_of(input));
  std::map<std::string, Missing> missing;
  const std::set<std::string> read = read_tensors(model);
  for (const onnx::NodeProto& node : join_patterns(model)) {
    const bool constant = std::ranges::all_of(
        node.output(), [&](const std::string& output) { return output.empty() || model.is_constant(output); });
    if (constant) continue;
    if (shapes_known(model, read, node) && import_node(importer, node)) {
      for (const std::string& output : node.output())
        if (!output.empty() && !importer.tensors.contains(output))
          importer.tensors[output] = importer.graph.source({predict::Shape::Kind::tokens, 0, 1, 1});
      continue;
    }
    note(missing, importer, node);
    stand_in(importer, node);
  }
  Conversion out;
  for (const auto& [type, entry] : missing) out.left_out.push_back(describe(type, entry));
  if (!out.left_out.empty() && !options.partial)
    return fail(ErrorCode::invalid,
                fmt::format("{}: {} not supported; --partial writes the file without them", file,
                            out.left_out.size() == 1 ? "one operator is" : "some operators are"),
                out.left_out);
  if (importer.graph.size() == 0)
    return fail(ErrorCode::invalid, fmt::format("{}: no operation was found in it", file));
  const std::string& graph = model.proto.graph().name();
  const std::string name = !options.name.empty() ? options.name : graph.empty() ? "model" : graph;
  out.yaml = write_workload(importer, name, file, out.left_out);
  return out;
}

}  // namespace partita::onnx_import
