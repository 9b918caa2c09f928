// A lease as node/ keeps it: what is told of it, where it is, and what counts against quotas.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/lease.h"
#include "deliver/permissions.h"
#include "layout/layout.h"
#include "node/records.h"

namespace partita::node {

// Where a lease's partition is. A GPU instance by its place: its id follows from it.
struct LeasePlace {
  std::string gpu;  // UUID
  bool whole_gpu = false;
  InstanceRecord instance;  // unless it is the whole GPU
};

struct LeaseRecord {
  api::Lease lease;
  std::int64_t bundle = 0;  // id of the first lease of one request: granted together or not at all
  std::optional<LeasePlace> place;
  std::optional<std::chrono::milliseconds> duration;
  std::vector<std::string> groups;  // the holder's, for quotas
  int quota_slices = 0;
  Bytes quota_memory;
  bool told = false;    // its caller knows of it
  bool warned = false;  // of its expiry
  bool stored = false;  // the ledger has it

  // Kept in memory only.
  std::optional<Time> kill_at;                 // releasing: what still runs is killed then
  bool killed = false;                         // and was
  std::string ending;                          // releasing: the cause that it will end with
  bool administrator = false;                  // who asked was one
  bool moved = false;                          // to another place, of which no event told yet
  std::vector<pid_t> registered;               // with the emulated driver
  std::shared_ptr<const api::Lease> shown;     // a copy for readers; null after a change
  std::vector<deliver::CapabilityNode> given;  // whose permissions are the holder's
  bool has_file = true;                        // its CDI file may be there
};

// "lease alice-train (alice, until 14:05)".
std::string lease_text(const LeaseRecord& record, Time now);
// "lease alice-train (alice)".
std::string lease_name_text(const LeaseRecord& record);

inline bool holds_partition(api::LeaseState state) {
  using enum api::LeaseState;
  return state == cutting || state == granting || state == active || state == releasing;
}

}  // namespace partita::node
