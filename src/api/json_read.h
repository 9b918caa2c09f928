// JSON back into the structs of api/: what json.h writes.
//
// Requests are read strictly: they come from anyone. An unknown key, a wrong type, a number out of range, a key given
// twice: `invalid`, naming the key's path ("requirement.memory_bytes: expected ..."). An absent key and null are the
// same: the default.
//
// Answers are read tolerantly: keys that a newer node adds are skipped. What is needed and wrong is `unavailable`: the
// other side does not speak this version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/lease.h"
#include "api/node.h"
#include "base/error.h"

namespace partita::api {

// Requests. `caller` is who asks, as the server knows it: the holder too, unless the request names another.

enum class Hooks { refused, allowed };
// Hooks run as the node's own user. Only for callers who are that user anyway may they be allowed: else `denied`.
Result<PlanRequest> read_plan_request(std::string_view json, const Caller& caller, Hooks hooks);
Result<LeaseRequest> read_lease_request(std::string_view json, const Caller& caller);

// Changes of the lease `name`, which stands in the route. An empty body is {}.
Result<LeaseChange> read_lease_change(std::string_view json, const Caller& caller, std::string name);
struct Renewal {
  LeaseChange change;
  std::optional<std::chrono::milliseconds> duration;
};
Result<Renewal> read_renewal(std::string_view json, const Caller& caller, std::string name);
struct Resizing {
  LeaseChange change;
  Requirement requirement;
};
Result<Resizing> read_resizing(std::string_view json, const Caller& caller, std::string name);
struct Attachment {
  LeaseChange change;
  ProcessId process;
};
Result<Attachment> read_attachment(std::string_view json, const Caller& caller, std::string name);

// Answers. Those of a node's state need the text that was written with Boards::included.

Result<StatusAnswer> read_status(std::string_view json);
Result<layout::NodeState> read_state(std::string_view json);
Result<NodePlanAnswer> read_plan(std::string_view json);
Result<ApplyAnswer> read_apply(std::string_view json);
Result<AssertAnswer> read_assert(std::string_view json);
Result<DoctorAnswer> read_doctor(std::string_view json);
Result<Lease> read_lease(std::string_view json);
Result<std::vector<Lease>> read_leases(std::string_view json);
Result<Event> read_event(std::string_view json);
Result<std::vector<Event>> read_events(std::string_view json);
Result<PolicyAnswer> read_policy_answer(std::string_view json);
// The value is the error that the text tells of, in {"error": {...}} or as problem+json ("code", "detail", "details").
Result<Error> read_error(std::string_view json);

}  // namespace partita::api
