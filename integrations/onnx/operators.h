// ONNX operators as operations of a prediction. Internal.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnx/model.h"
#include "predict/architecture_graph.h"

namespace partita::onnx_import {

// The conversion while it runs.
struct Importer {
  const Model& model;
  predict::Graph graph;
  std::map<std::string, predict::TensorId, std::less<>> tensors;  // activations made so far
  std::set<std::string, std::less<>> counted;                     // origins whose parameters are counted

  // Per sample, as the graph wants it.
  predict::Shape shape_of(const std::string& tensor) const;
  // The activations among the node's inputs.
  std::vector<predict::TensorId> activations(const onnx::NodeProto& node) const;
  // Adds an operation for the node's first output, with the parameters of its constant inputs.
  void put(const onnx::NodeProto& node, predict::Operation operation, predict::Handling handling);
  // The node's first output is its first activation seen otherwise.
  void view(const onnx::NodeProto& node);

 private:
  void add_parameters(const onnx::NodeProto& node, predict::Operation& operation);
};

long long integer(const onnx::NodeProto& node, std::string_view attribute, long long otherwise);

// False: not supported, nothing was added.
bool import_node(Importer& importer, const onnx::NodeProto& node);
// operators_products.cpp: Conv, ConvTranspose, Gemm, MatMul. False: not one of them, or not with such operands.
bool import_product(Importer& importer, const onnx::NodeProto& node);

}  // namespace partita::onnx_import
