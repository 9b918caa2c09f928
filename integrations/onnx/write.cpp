#include "onnx/write.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

#include "base/text.h"
#include "predict/workload_file.h"

namespace partita::onnx_import {

namespace {

// Fit for a plain YAML text in double quotes.
std::string plain(std::string_view text) {
  std::string out = one_line(text, 120);
  for (char& c : out)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) >= 0x80) c = '_';
  return out;
}

// Exact for what is whole, short otherwise.
std::string number(double value) {
  return value == static_cast<double>(static_cast<long long>(value)) ? fmt::format("{}", static_cast<long long>(value))
                                                                     : fmt::format("{:.9g}", value);
}

std::string line(const predict::Operation& operation) {
  std::string out = fmt::format("  - {{kind: {}, name: \"{}\"", predict::name(operation.kind), plain(operation.name));
  const auto add = [&](std::string_view key, double value, double otherwise) {
    if (value != otherwise) out += fmt::format(", {}: {}", key, number(value));
  };
  if (operation.macs() > 0) {
    out += fmt::format(", m: {}, n: {}, k: {}", number(operation.m), number(operation.n), number(operation.k));
    add("groups", operation.groups, 1);
  }
  out += fmt::format(", input: {}, output: {}", number(operation.input_elements), number(operation.output_elements));
  add("weights", operation.weight_elements, 0);
  add("parameters", operation.parameter_elements, operation.weight_elements);
  add("tensors", operation.parameter_tensors, operation.parameter_elements > 0 ? 1 : 0);
  if (operation.fused_in_graph) out += ", fused: true";
  if (!operation.saved_for_backward) out += ", saved: false";
  return out + "}\n";
}

}  // namespace

std::string write_workload(const Importer& importer, const std::string& name, const std::string& file,
                           const std::vector<std::string>& left_out) {
  const std::vector<predict::Operation> operations = importer.graph.operations();
  const predict::Totals sum = predict::totals(operations);
  double input = 0;
  for (const std::string& tensor : importer.model.inputs) input += importer.shape_of(tensor).elements();
  std::string out =
      fmt::format("# Made by partita-onnx: {:.4g} GMAC and {:.4g} M parameters in {} operations, per sample.\n",
                  sum.macs / 1e9, sum.parameters / 1e6, operations.size());
  for (const std::string& missing : left_out) out += fmt::format("# LEFT OUT: {}\n", plain(missing));
  out += fmt::format("name: \"{}\"\ntitle: \"{}\"\nsource: \"{}, ONNX opset {}\"\nunit: samples\n", plain(name),
                     plain(name), plain(file),
                     importer.model.proto.opset_import_size() > 0 ? importer.model.proto.opset_import(0).version() : 0);
  out +=
      fmt::format("input: {{elements: {}}}\npeak_live_elements: {}\nsaved_elements: {}\noperations:\n", number(input),
                  number(importer.graph.peak_live_elements()), number(importer.graph.saved_elements()));
  for (const predict::Operation& operation : operations) out += line(operation);
  return out;
}

}  // namespace partita::onnx_import
