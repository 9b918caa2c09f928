// Who may lease how much and for how long. Read from a YAML file; without one there are no limits.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/lease.h"
#include "base/error.h"
#include "base/units.h"

namespace partita::lease {

struct Limit {
  std::optional<int> partitions, compute_slices;
  std::optional<Bytes> memory;
  std::optional<std::chrono::milliseconds> longest, standard;  // duration: at most, and when none is asked
  std::optional<api::Priority> highest;                        // priority class
  int line = 0;                                                // in the file
};

struct Policy {
  std::string file;                                             // "" when there is none
  Limit everyone;                                               // per user, where the user has none of their own
  std::map<std::string, Limit, std::less<>> users, groups;      // a group's limit is shared by its members
  std::chrono::milliseconds warning = std::chrono::minutes(5);  // before expiry
  std::chrono::milliseconds grace = std::chrono::minutes(1);    // after expiry, before what runs is ended
};

Result<Policy> read_policy(std::string_view text, const std::string& file);

// What a user has now, or would have.
struct Usage {
  int partitions = 0, compute_slices = 0;
  Bytes memory;
};

// `denied` when one more `wanted` for this caller passes a limit of the user or of one of their groups: names the
// limit, where it is written, what is used by which leases, and what to release. `usage` per user name; group usage is
// the sum over the leases held by members, given per group name.
struct Usages {
  std::map<std::string, Usage, std::less<>> users, groups;
};
Result<void> check_quota(const Policy& policy, const api::Caller& caller, const Usages& usages, const Usage& wanted);

// The duration that a lease gets: asked, standard, or nullopt (until released). `denied` when it is over the longest.
Result<std::optional<std::chrono::milliseconds>> duration_of(const Policy& policy, const api::Caller& caller,
                                                             std::optional<std::chrono::milliseconds> asked);
Result<void> check_priority(const Policy& policy, const api::Caller& caller, api::Priority asked);

std::vector<api::QuotaRow> explain(const Policy& policy, const api::Caller& caller, const Usages& usages);

}  // namespace partita::lease
