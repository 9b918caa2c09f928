// An ONNX model turned into a workload file (`operations:`), one sample at a time. Bytes in, text out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita::onnx_import {

struct Options {
  std::string name;                             // of the workload; empty: the graph's
  std::map<std::string, long long> dimensions;  // sizes of named dimensions ("sequence" -> 128); the batch is 1
  bool partial = false;                         // write the file even where operators had to be left out
};

struct Conversion {
  std::string yaml;
  std::vector<std::string> left_out;  // "3 x LSTM (first: rnn1): 2.1 M weights, ..." ; empty: nothing was
};

// `invalid` names the model and what is wrong with it: not ONNX, a cycle, a tensor from nowhere, a dimension without a
// size, a shape that cannot be inferred; and, unless Options::partial, each operator that is not supported with an
// estimate of what it would have been.
Result<Conversion> convert(std::string_view bytes, const std::string& file, const Options& options);

}  // namespace partita::onnx_import
