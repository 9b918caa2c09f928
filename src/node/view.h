// What one look at the node shows, without the lock.
#pragma once

#include <string>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/error.h"
#include "driver/driver.h"
#include "lease/policy.h"
#include "node/node.h"

namespace partita::node {

struct View {
  layout::NodeState state;  // with pins
  std::vector<std::string> notes;
};

Result<View> look(driver::Driver& driver, const Options& options, Time now, bool adopt);

api::StatusAnswer status_of(View view, const Options& options);
Result<api::NodePlanAnswer> plan_of(View view, const api::PlanRequest& request);

// The policy file, as it is now; without one there are no limits.
Result<lease::Policy> load_policy(const Options& options);
// "policy.yaml:9: no user alice": who has limits and is not known to this machine (now: names may come, from LDAP).
std::vector<std::string> unknown_names(const lease::Policy& policy);
api::PolicyAnswer policy_answer(const lease::Policy& policy, const api::Caller& caller, const lease::Usages& usages);
bool asked_for(const api::LeaseQuery& query, const api::Lease& lease);

}  // namespace partita::node
