// All live leases of a node in memory, as the ledger has them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "lease/policy.h"
#include "node/lease_ledger.h"
#include "node/lease_record.h"
#include "node/pins.h"

namespace partita::node {

class Book {
 public:
  static Result<Book> load(Ledger& ledger);

  LeaseRecord* find(std::int64_t id);
  LeaseRecord* find(std::string_view name);
  LeaseRecord& add(LeaseRecord record);
  LeaseRecord take(std::int64_t id);
  // Of one request, the lease itself included.
  std::vector<LeaseRecord*> bundle(std::int64_t id);

  std::map<std::int64_t, LeaseRecord>& live() { return live_; }
  const std::map<std::int64_t, LeaseRecord>& live() const { return live_; }

  // What leases have and nobody else may touch; not what is only being cut for one.
  std::vector<LeasedPlace> places(Time now) const;
  // What counts against quotas, without one lease.
  lease::Usages usages(std::int64_t without = 0) const;

  LeaseNumbers numbers;
  std::map<std::string, std::int64_t, std::less<>> served;  // per user: the number of the last service

 private:
  std::map<std::int64_t, LeaseRecord> live_;
  std::map<std::string, std::int64_t, std::less<>> names_;
};

}  // namespace partita::node
