// What the conductor tells readers: the node, the leases, what ended and what happened. Readers never wait for a group
// that is being served.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/lease.h"
#include "api/measures.h"
#include "layout/layout.h"
#include "node/keeper.h"
#include "node/pins.h"

namespace partita::node {

class Published {
 public:
  struct Look {
    std::shared_ptr<const layout::NodeState> state;  // with pins
    std::shared_ptr<const std::vector<std::string>> notes;
    std::shared_ptr<const std::vector<LeasedPlace>> leased;
    std::chrono::steady_clock::time_point at;
    api::Measures measures;
    // The instances that are ours.
    std::vector<OwnedInstance> owned() const;
  };

  // What ended and happened before.
  Result<void> load(Ledger& ledger);
  void publish(Keeper& keeper, Time now);  // by the conductor alone

  Look look() const;
  std::vector<api::Lease> leases(const api::LeaseQuery& query) const;
  std::vector<api::Event> events(const api::EventQuery& query) const;

 private:
  using Shown = std::vector<std::shared_ptr<const api::Lease>>;  // ascending ids

  mutable std::mutex mutex_;
  mutable std::condition_variable happened_;
  Look look_;
  std::shared_ptr<const Shown> live_ = std::make_shared<Shown>();
  std::deque<std::shared_ptr<const api::Lease>> ended_;
  std::deque<api::Event> events_;
};

}  // namespace partita::node
