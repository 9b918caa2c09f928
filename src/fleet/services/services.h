// Services: a model, a request rate and a latency limit, and what one instance of each size can take of it.
//
// Points say what a size delivers with a batch and a number of processes (MPS) inside: measured, or predicted by the
// caller. Per size the point counts that takes the highest rate within the limit; how many instances of which sizes is
// then the fleet's problem (solve.h).
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"

namespace partita::fleet {

struct ServicePoint {
  std::string model;
  std::string board;       // board id; "": any
  int compute_slices = 0;  // of the instance
  int batch = 1;
  int processes = 1;
  double per_s = 0;       // items per second of the whole instance, always busy
  double latency_ms = 0;  // of one batch
  double sigma = 0;       // of its logarithm: how uncertain a predicted time is; 0: measured
};

struct Service {
  std::string name;
  std::string model;
  double rate_per_s = 0;
  double limit_ms = 0;
};

// When a point meets a limit, and what rate it then takes.
struct ServiceRule {
  enum class Kind {
    // As ParvaGPU's planner counts: a batch takes less than 0.45 of the limit (whole milliseconds), and the instance
    // takes its full throughput. No queueing.
    saturated,
    // Requests come by chance, wait for a process to be free, and are batched as they wait: the rate at which the
    // quantile of waiting and service together just meets the limit (queueing.h), with 15 % fewer late, less 5 %: so
    // much
    // more may come.
    queueing,
  };
  Kind kind = Kind::queueing;
  double quantile = 0.99;
  double variability = 1;  // variance of arrivals per mean: 1 is Poisson, above 1 burstier
  double time_margin = 1;  // service times are taken this much longer: the upper end of a prediction's interval
  bool operator==(const ServiceRule&) const = default;
};

inline constexpr double kLongestSigmas = 2.576;  // 99.5 % of a normal distribution lie below

// How much longer than its point says a batch may take: the margin, and for predicted times so much that 99.5 % of what
// they may really be lies below. Queueing plans with this.
double longest_factor(const ServiceRule& rule, double sigma);

// What one instance of a size takes.
struct ServiceChoice {
  std::string board;  // "": any
  int compute_slices = 0;
  int batch = 1;
  int processes = 1;
  double rate_per_s = 0;
  double latency_ms = 0;  // of one batch
  double sigma = 0;       // as the point's
};

// Per (board, size) the best point, ascending. `not_found` when the model has no points (with the nearest names);
// `impossible` when no point meets the limit: says the nearest one and the limit that it would meet.
Result<std::vector<ServiceChoice>> choices(const std::vector<ServicePoint>& points, const Service& service,
                                           const ServiceRule& rule);

// The service as a want: on each kind the plain profile of each size with the least memory serves. `not_found` when no
// kind of the fleet has such a size.
Result<Want> want_of(const Service& service, const std::vector<ServiceChoice>& list, const Fleet& fleet);

// The choice behind an instance that serves the want.
const ServiceChoice* choice_of(const std::vector<ServiceChoice>& list, const Kind& kind, int profile);

}  // namespace partita::fleet
