// Does a planned layout keep its promise? Services are played on service times and arrivals that the plan has not seen.
//
// Each run draws one factor per service for its times (what a prediction may be wrong by stays wrong all along) and
// plays Poisson requests, in groups of geometric size where arrivals are burstier, through the processes of its
// instances. A run meets the promise when the quantile of latencies is within the limit. Simulated; the same seed gives
// the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita::study {

// Processes that are alike.
struct ConfirmPart {
  std::int64_t processes = 1;
  double rate_per_s = 0;  // of one process
  double service_s = 0;   // of a batch, however few are in it
  int batch = 1;
};

struct ConfirmService {
  std::string name;
  double limit_s = 0;
  double quantile = 0.99;
  double variability = 1;  // variance of arrivals over their mean, from 1
  double spread = 0;       // log-scale standard deviation of the runs' factor on all service times
  std::vector<ConfirmPart> parts;
};

struct Confirmed {
  std::string name;
  int runs = 0, met = 0;   // runs that met the limit
  double late_share = 0;   // of all requests of all runs
  double worst_share = 0;  // of one run
  double met_share() const { return runs > 0 ? static_cast<double>(met) / runs : 0; }
};

struct ConfirmOptions {
  int runs = 100;
  std::int64_t requests = 20'000;  // per service and run, about; where batches are large, more
  std::uint64_t seed = 0x70617274;
};

// `invalid` when a service is not well formed.
Result<std::vector<Confirmed>> confirm(const std::vector<ConfirmService>& services, const ConfirmOptions& options = {});

}  // namespace partita::study
