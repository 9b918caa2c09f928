// Whose turn it is, and when. Pure.
//
// Order: priority class, then round robin over holders by how long ago each was last served, then age. A younger
// request may go before an older one that cannot be served now (back-fill) only if that does not delay the older one
// past its estimate: the time at which, by the expiries known, the room that it needs is free at the latest.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/lease.h"
#include "base/clock.h"
#include "layout/layout.h"
#include "lease/choose.h"

namespace partita::lease {

// Room kept for a waiting request from `at` on.
struct Reserved {
  std::string gpu;           // UUID
  std::optional<int> start;  // nullopt: the whole GPU
  int profile = 0;
};
struct Reservation {
  Time at;
  std::vector<Reserved> places;
};

struct Waiting {
  std::int64_t id = 0;
  std::string user;
  api::Priority priority = api::Priority::normal;
  Time asked;
  std::optional<std::chrono::milliseconds> duration;  // nullopt: until released
  // Only for plan_queue().
  api::Requirement requirement;
  int count = 1;                        // places, all at once
  std::optional<std::string> same_gpu;  // UUID, when requirement.same_gpu_as names a live lease
  std::optional<Size> most;             // of each place: the quota
  std::optional<Reservation> reserved;  // from the Turn before
};

// Ids in the order in which they are to be tried. `last_served`: per user, the number of the service that was theirs
// last (0: never). A user's second request comes after every other user's first of its class.
std::vector<std::int64_t> order(std::span<const Waiting> waiting,
                                const std::map<std::string, std::int64_t, std::less<>>& last_served);

// A live lease's place.
struct Held {
  std::string gpu;              // UUID
  std::optional<int> start;     // nullopt: the whole GPU
  bool alone = false;           // exclusive_gpu
  std::optional<Time> expires;  // when its room is free at the latest, grace included; nullopt: until released
};

struct Turn {
  std::int64_t id = 0;
  std::vector<Choice> now;          // it may go now, there; empty: it waits. In the order of the turns, each choice
                                    // stands on the state that those before it leave
  std::optional<Time> at;           // when it is served at the latest, if all expiries are kept; nullopt: not known
  std::optional<Reservation> kept;  // to be given back as Waiting::reserved next time
};

struct QueueLimits {
  int reserving = 8;  // so many requests in order get an estimate and room kept; the others only fill what is left
};

// Who goes now, and when the others do. `waiting` in order(). Each of the first ones gets the earliest time at which
// there is room for all of its duration beside live leases and the room kept for those before it, so that nobody behind
// it can delay it. To be asked at each change and at the earliest `at`. As long as live leases end when they expire or
// before, and only newcomers of the end of the order arrive, a Turn's `at` never becomes later from one call to the
// next, whatever is back-filled in between. An estimate that depends on a lease without expiry is not known; its room
// is kept all the same from leases without expiry.
//
// Costs about as many find_place() as there are expiries, for each request that gets room kept: when the first in order
// can be served, find_place() alone is the quicker question.
std::vector<Turn> plan_queue(const layout::NodeState& state, std::span<const Held> held,
                             std::span<const Waiting> waiting, Time now, Geometries& geometries,
                             const QueueLimits& limits = {});

}  // namespace partita::lease
