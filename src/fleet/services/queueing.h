// How much a server that batches can take when requests come by chance.
//
// Requests come as a Poisson stream (groups of geometric size when variability > 1, one request right after the other:
// a free process begins with the first alone). A process that becomes free takes what
// waits, at most `batch` requests, oldest first, and works `service_ms` on them, however few they are: measured times
// of full batches are an upper bound. The queue left at each end of service is a Markov chain; its stationary
// distribution gives the exact distribution of waiting plus service (bulk-service queue M[X]/D[b]/1: Bailey 1954).
#pragma once

namespace partita::fleet {

struct BatchServer {
  double service_ms = 0;
  int batch = 1;
  double limit_ms = 0;
  double quantile = 0.99;
  double variability = 1;
};

// Requests that come at once, on average.
double mean_group(double variability);

// The share of requests that take longer than the limit when `rate_per_s` come; 1 when the queue grows without end.
double late_share(const BatchServer& server, double rate_per_s);

// At least so many are late at any rate: those too far behind in their own group, before a free process.
double late_of_groups(const BatchServer& server);

// The highest rate at which the share that is late is at most 1 - quantile, within 1 %, never above; 0: there is none,
// or `more_than` is too much.
double highest_rate(const BatchServer& server, double more_than = 0);

}  // namespace partita::fleet
