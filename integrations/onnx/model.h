// A checked ONNX graph: nodes in order, every tensor's shape known, constants told from activations. Internal.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "onnx/convert.h"

namespace partita::onnx_import {

using Dims = std::vector<double>;
double elements(const Dims& dims);

// A tensor that depends on weights and shapes only.
struct Constant {
  double elements = 0;
  std::string origin;  // the initializer that it is made of, so that a weight with two uses counts once
};

struct Model {
  onnx::ModelProto proto;                     // shapes inferred
  std::vector<const onnx::NodeProto*> order;  // each after what it reads
  std::map<std::string, Dims, std::less<>> shapes;
  std::map<std::string, Constant, std::less<>> constants;
  std::vector<std::string> inputs;  // without initializers
  double batch = 1;                 // samples in one run: the first input's first dimension

  const Dims* shape(const std::string& tensor) const;
  bool is_constant(const std::string& tensor) const { return constants.contains(tensor); }
};

// Errors as convert() says. Exceptions of the ONNX library end here.
Result<Model> load(std::string_view bytes, const std::string& file, const Options& options);

}  // namespace partita::onnx_import
