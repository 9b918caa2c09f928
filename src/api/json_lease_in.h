// Parts of leases that both requests and answers have, read from JSON. Inside api/ only.
#pragma once

#include <string>

#include "api/json_in.h"
#include "api/lease.h"

namespace partita::api {

ProcessId read_process(Reading& reading, const Json& json, const std::string& path);
Holder read_holder(Reading& reading, const Json& json, const std::string& path);
Requirement read_requirement(Reading& reading, const Json& json, const std::string& path);
HostLimits read_host_limits(Reading& reading, const Json& json, const std::string& path);
Priority read_priority(const Members& in);  // of the member "priority"

}  // namespace partita::api
