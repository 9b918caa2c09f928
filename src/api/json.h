// Every public JSON shape: answers to text. Stable and documented in docs/json.md; unit suffixes in key names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/lease.h"
#include "api/node.h"
#include "api/predict.h"
#include "base/error.h"
#include "catalog/catalog.h"
#include "predict/validate.h"

namespace partita::api {

// Whether the boards that the answer's profiles refer to come with it, as the driver's own tables gave them ("boards",
// and "board_table" with each GPU). A client needs them to rebuild the answer (json_read.h); people and scripts do not.
// With them the text is compact.
enum class Boards { left_out, included };

std::string to_json(const StatusAnswer& answer, Boards boards = Boards::left_out);
std::string to_json(const layout::NodeState& state, Boards boards = Boards::left_out);
std::string to_json(const NodePlanAnswer& answer, Boards boards = Boards::left_out);
std::string to_json(const ApplyAnswer& answer, Boards boards = Boards::left_out);
std::string to_json(const AssertAnswer& answer);
std::string to_json(const DoctorAnswer& answer);
std::string to_json(const Error& error);  // {"error": {"code", "message", "details"}}
std::string to_json(const std::vector<catalog::BoardEntry>& boards);
std::string to_json(const catalog::Board& board);
std::string to_json(const PredictAnswer& answer);
std::string to_json(const TwoPointAnswer& answer);
std::string to_json(const std::vector<WorkloadRow>& workloads);
std::string to_json(const std::vector<predict::SetReport>& reports);

std::string to_json(const Lease& lease);
std::string to_json(const std::vector<Lease>& leases);  // {"leases": [...]}
std::string to_json(const Event& event);                // one line, no line feed: as it stands in an event stream
std::string to_json(const std::vector<Event>& events);  // {"events": [...]}
std::string to_json(const PolicyAnswer& answer);

// Requests, as a client sends them; the caller is left out, because the server knows who asks. Compact.
std::string to_json(const PlanRequest& request);
std::string to_json(const LeaseRequest& request);
// The body of a change of one lease, whose name stands in the route: "grace_ms" and "force", beside what each needs.
std::string to_json(const LeaseChange& change);
std::string to_json(const LeaseChange& change, std::optional<std::chrono::milliseconds> duration);
std::string to_json(const LeaseChange& change, const Requirement& requirement);
std::string to_json(const LeaseChange& change, const ProcessId& process);

}  // namespace partita::api
