// Names of leases, and what a request must be like by itself.
#pragma once

#include <cstdint>
#include <string>

#include "api/lease.h"
#include "base/error.h"

namespace partita::node {

// "alice", or "uid 1000".
std::string caller_text(const api::Caller& caller);
// `invalid`: the name, the count, a label.
Result<void> check_request(const api::LeaseRequest& request);
// "alice-17"; what a name may not hold is left out.
std::string made_name(const std::string& user, std::int64_t id);

}  // namespace partita::node
