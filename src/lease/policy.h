// Who may lease how much and for how long. Read from a YAML file; without one there are no limits.
//
//   version: v1
//   warning: 5m                 # how long before expiry the holder is warned
//   grace: 1m                   # how long after expiry what still runs may go on
//   everyone:                   # each user, administrators aside
//     partitions: 2             # at once
//     compute-slices: 4         # at once, of all partitions together
//     memory: 40GiB             # at once, of all partitions together
//     longest: 12h              # of one lease; without it, until released
//     default: 2h               # of a lease that asks for none; without it, `longest`
//     highest-priority: normal  # low, normal or high
//   users:
//     alice: {partitions: 8, longest: unlimited}
//   groups:                     # Unix groups; their members share the quota
//     ml: {compute-slices: 28}
//
// A user's own keys go before those of `everyone`, one by one; `unlimited` takes a limit away. The quota of a group
// holds besides its members' own, for all of them together. A group's longest, default and highest-priority go before
// those of `everyone` for its members (of several groups the most generous), and a user's own before the groups'.
// An administrator is held only by keys under their own name.
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

// Where each key of a Limit is written; 0: it is not.
struct LimitLines {
  int partitions = 0, compute_slices = 0, memory = 0, longest = 0, standard = 0, highest = 0;
};

struct Limit {
  std::optional<int> partitions, compute_slices;
  std::optional<Bytes> memory;
  std::optional<std::chrono::milliseconds> longest, standard;  // duration: at most, and when none is asked
  std::optional<api::Priority> highest;                        // priority class
  int line = 0;                                                // in the file
  LimitLines lines;  // nullopt with a line: unlimited; nullopt without: not said here
};

struct Policy {
  std::string file;                                             // "" when there is none
  Limit everyone;                                               // per user, where the user has none of their own
  std::map<std::string, Limit, std::less<>> users, groups;      // a group's limit is shared by its members
  std::chrono::milliseconds warning = std::chrono::minutes(5);  // before expiry
  std::chrono::milliseconds grace = std::chrono::minutes(1);    // after expiry, before what runs is ended
};

// `invalid` names file, line and key.
Result<Policy> read_policy(std::string_view text, const std::string& file);

// What a user has now, or would have.
struct Usage {
  int partitions = 0, compute_slices = 0;
  Bytes memory;
  bool operator==(const Usage&) const = default;
};

// A lease that counts, for the reasons of a denial.
struct Holding {
  std::string lease, user;
  std::vector<std::string> groups;  // of the user
  Usage usage;
};

struct Usages {
  std::map<std::string, Usage, std::less<>> users, groups;  // by name
  std::vector<Holding> holdings;                            // may be left out: a denial then names no leases
};
// One more lease, in all three parts of `usages`.
void add(Usages& usages, const Holding& holding);

// `denied` when `wanted` more for this caller passes a limit of the user or of one of their groups: names the limit,
// where it is written, what is used by which leases, and what to release.
Result<void> check_quota(const Policy& policy, const api::Caller& caller, const Usages& usages, const Usage& wanted);

// What is left of all quotas that hold for the caller: the most that can be added; without a limit the largest number.
Usage left(const Policy& policy, const api::Caller& caller, const Usages& usages);

// What holds for a caller's durations: at most, and when none is asked.
struct DurationLimits {
  std::optional<std::chrono::milliseconds> longest, standard;
  std::string longest_source;  // "policy.yaml:12"
};
DurationLimits duration_limits(const Policy& policy, const api::Caller& caller);

// The duration that a lease gets: asked, standard, or nullopt (until released). `denied` when it is over the longest.
Result<std::optional<std::chrono::milliseconds>> duration_of(const Policy& policy, const api::Caller& caller,
                                                             std::optional<std::chrono::milliseconds> asked);
Result<void> check_priority(const Policy& policy, const api::Caller& caller, api::Priority asked);

// The caller's own limits and those of their groups; for an administrator those of every user and group that has a
// limit or holds something.
std::vector<api::QuotaRow> explain(const Policy& policy, const api::Caller& caller, const Usages& usages);

}  // namespace partita::lease
