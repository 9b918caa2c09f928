// Waiting for leases, so that Ctrl-C can be answered.
#pragma once

#include <signal.h>

#include <chrono>
#include <string>
#include <vector>

#include "api/lease.h"
#include "cli/common.h"

namespace partita::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP wait until sleep() looks for them.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  // The signal that came, 0 when the time is over.
  int sleep(std::chrono::milliseconds time) const;

 private:
  sigset_t signals_{}, before_{};
};

// Leases that wait become active, while a person sees their place in line. A signal gives up the places: the status is
// then 128 + signal and no lease is left. `unavailable` with the cause when one ends instead.
struct Waited {
  std::vector<api::Lease> leases;
  int status = 0;
};
Result<Waited> wait_until_active(const Parsed& parsed, Session& session, std::vector<api::Lease> leases);

// A lease that is releasing ends. Returns it as it is when `patience` is over or a signal comes.
Result<api::Lease> wait_until_ended(Session& session, api::Lease lease, std::chrono::milliseconds patience);

// The lease of that name, that lives or ended last. `not_found` with the nearest names.
Result<api::Lease> lease_called(Session& session, const std::string& name);

}  // namespace partita::cli
