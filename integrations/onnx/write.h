// The workload file. Internal.
#pragma once

#include <string>
#include <vector>

#include "onnx/operators.h"

namespace partita::onnx_import {

std::string write_workload(const Importer& importer, const std::string& name, const std::string& file,
                           const std::vector<std::string>& left_out);

}  // namespace partita::onnx_import
