// The ledger's part about leases. Every function that writes belongs in a write of the ledger (Ledger::group, write).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/lease.h"
#include "base/error.h"
#include "node/epoch.h"
#include "node/lease_record.h"
#include "node/ledger.h"

namespace partita::node {

inline constexpr std::int64_t kEndedKept = 1000;
inline constexpr std::int64_t kEventsKept = 10'000;
inline constexpr std::chrono::hours kAskedKept{24};

// Numbers that never come again.
struct LeaseNumbers {
  std::int64_t last_lease = 0, last_event = 0, last_ended = 0, last_service = 0;
};

// A request with a key, and the leases that were made for it.
struct Asked {
  api::Once once;
  std::int64_t first_lease = 0;
  int count = 1;
};

class LeaseLedger {
 public:
  explicit LeaseLedger(Ledger& ledger) : database_(ledger.database()) {}

  Result<LeaseNumbers> numbers();
  Result<std::vector<LeaseRecord>> live();
  // The latest `limit`, oldest first.
  Result<std::vector<LeaseRecord>> ended(std::int64_t limit);
  Result<std::map<std::string, std::int64_t, std::less<>>> services();
  Result<std::vector<api::Event>> events(std::int64_t after, std::int64_t limit);

  Result<std::optional<LeaseRecord>> find(std::int64_t id);  // live or ended
  Result<std::optional<Asked>> asked(const std::string& key);

  Result<void> store(const LeaseRecord& record);
  // The record is `ended`; those that ended long before are forgotten.
  Result<void> store_ended(const LeaseRecord& record, std::int64_t ended_number);
  Result<void> drop(std::int64_t id);
  // Those before are forgotten after kAskedKept.
  Result<void> store_asked(const Asked& asked, Time now);
  Result<void> store_service(const std::string& user, std::int64_t number);
  // Numbered events; old ones are forgotten.
  Result<void> store_events(const std::vector<api::Event>& events);

  // Was everything outside the ledger as the leases say, when it was last looked at, and in which epoch?
  struct Conduct {
    bool clean = true;
    Epoch epoch;
  };
  Result<std::optional<Conduct>> conduct();
  Result<void> store_conduct(const Conduct& conduct);

 private:
  Result<void> store_as(const LeaseRecord& record, std::optional<std::int64_t> ended_number);
  Result<std::vector<LeaseRecord>> read(std::string_view where, const Row& values);

  Database& database_;
};

}  // namespace partita::node
