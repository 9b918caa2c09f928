// Whose turn it is. Pure.
//
// Order: priority class, then round robin over holders by how long ago each was last served, then age. A younger
// request may go before an older one that cannot be served now (back-fill) only if that does not delay the older one
// past its estimate: the time at which, by the expiries known, the room that it needs is free at the latest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/lease.h"
#include "base/clock.h"

namespace partita::lease {

struct Waiting {
  std::int64_t id = 0;
  std::string user;
  api::Priority priority = api::Priority::normal;
  Time asked;
  std::optional<std::chrono::milliseconds> duration;  // nullopt: until released
};

// Ids in the order in which they are to be tried. `last_served`: per user, the number of the service that was theirs
// last (0: never).
std::vector<std::int64_t> order(std::span<const Waiting> waiting,
                                const std::map<std::string, std::int64_t, std::less<>>& last_served);

}  // namespace partita::lease
