// Every public JSON shape: answers to text. Stable and documented in docs/json.md; unit suffixes in key names.
#pragma once

#include <string>

#include "api/node.h"
#include "api/predict.h"
#include "base/error.h"
#include "catalog/catalog.h"

namespace partita::api {

std::string to_json(const StatusAnswer& answer);
std::string to_json(const NodePlanAnswer& answer);
std::string to_json(const ApplyAnswer& answer);
std::string to_json(const AssertAnswer& answer);
std::string to_json(const DoctorAnswer& answer);
std::string to_json(const Error& error);  // {"error": {"code", "message", "details"}}
std::string to_json(const std::vector<catalog::BoardEntry>& boards);
std::string to_json(const catalog::Board& board);
std::string to_json(const PredictAnswer& answer);
std::string to_json(const TwoPointAnswer& answer);
std::string to_json(const std::vector<WorkloadRow>& workloads);

}  // namespace partita::api
