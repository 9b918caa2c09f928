#include "fleet/queueing.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace partita::fleet {

namespace {

constexpr int kGrain = 32;    // larger batches are counted in units of batch / 32, arrivals rounded up
constexpr int kMoments = 16;  // of a service at which an arrival is looked at
constexpr double kTail = 1e-9;

// The distribution of arrivals in a time in which `mean` come, counted in units of `unit`, rounded up. Groups have
// geometric sizes of mean (variability + 1) / 2: Panjer's recursion.
std::vector<double> arrivals(double mean, double variability, int unit) {
  const double group = std::max(1.0, (variability + 1) / 2);
  const double stay = 1 - (1 / group);  // probability that a group goes on
  const double groups = mean / group;
  const auto most = static_cast<std::size_t>(mean + (12 * std::sqrt(mean * std::max(1.0, variability))) + (40 * group));
  std::vector<double> p(most + 1);
  p[0] = std::exp(-groups);
  if (p[0] < 1e-300) return {};  // means beyond 690: not asked for by any batch
  // n p(n) = groups * sum_j j f(j) p(n-j), f geometric: kept as running sums.
  double weighted = 0;  // sum_j j f(j) p(n-j)
  double plain = 0;     // sum_j f(j) p(n-j)
  for (std::size_t n = 1; n <= most; ++n) {
    plain = (stay * plain) + ((1 - stay) * p[n - 1]);
    weighted = (stay * weighted) + plain;
    p[n] = groups * weighted / static_cast<double>(n);
  }
  std::vector<double> out((most / static_cast<std::size_t>(unit)) + 2);
  for (std::size_t n = 0; n <= most; ++n)
    out[(n + static_cast<std::size_t>(unit) - 1) / static_cast<std::size_t>(unit)] += p[n];
  while (out.size() > 1 && out.back() < kTail * 1e-3) out.pop_back();
  return out;
}

struct Chain {
  int batch;                 // in units
  std::vector<double> left;  // what waits when a service begins, after it took its batch
  double idle = 0;           // probability that nothing waits when a service ends
  bool stable = false;
};

// Power iteration on the queue at ends of service.
Chain stationary(const std::vector<double>& come, int batch) {
  const auto b = static_cast<std::size_t>(batch);
  const std::size_t size = (6 * b) + come.size();
  std::vector<double> now(size), next(size);
  now[0] = 1;
  Chain out{batch, std::vector<double>(size), 0, false};
  for (int round = 0; round < 400; ++round) {
    std::ranges::fill(out.left, 0);
    for (std::size_t q = 0; q < size; ++q) out.left[q > b ? q - b : 0] += now[q];
    std::ranges::fill(next, 0);
    for (std::size_t l = 0; l < size; ++l) {
      if (out.left[l] < 1e-13) continue;
      for (std::size_t a = 0; a < come.size(); ++a) next[std::min(size - 1, l + a)] += out.left[l] * come[a];
    }
    double change = 0;
    for (std::size_t q = 0; q < size; ++q) change += std::abs(next[q] - now[q]);
    now.swap(next);
    if (change < 1e-7) {
      out.stable = now[size - 1] < 1e-6;
      break;
    }
  }
  out.idle = now[0];
  return out;
}

}  // namespace

double late_share(const BatchServer& server, double rate_per_s) {
  const double mean = rate_per_s * server.service_ms / 1000;
  if (mean <= 0) return server.service_ms > server.limit_ms ? 1 : 0;
  if (mean >= server.batch || mean > 600) return 1;
  const int unit = std::max(1, server.batch / kGrain);
  const int batch = server.batch / unit;
  const auto come = arrivals(mean, server.variability, unit);
  if (come.empty()) return 1;
  const auto chain = stationary(come, batch);
  if (!chain.stable) return 1;
  // A request that comes at a moment of a service waits for its end, for the full batches before it, and is served.
  double late = 0;
  for (int m = 0; m < kMoments; ++m) {
    const double moment = m / static_cast<double>(kMoments);  // early: waits longest
    const auto before = arrivals(std::max(mean * (m + 0.5) / kMoments, 1e-12), server.variability, unit);
    const double own = (1 - moment) + 1;
    const double spare = (server.limit_ms / server.service_ms) - own;
    if (spare < 0) {
      late += 1;
      continue;
    }
    const auto room = static_cast<std::size_t>((std::floor(spare + 1e-9) + 1) * batch);  // first position that is late
    double in_time = 0;
    double cumulated = 0;
    std::vector<double> below(before.size());  // arrivals before: cumulative
    for (std::size_t a = 0; a < before.size(); ++a) below[a] = cumulated += before[a];
    for (std::size_t l = 0; l < chain.left.size() && l < room; ++l)
      in_time += chain.left[l] * below[std::min(below.size() - 1, room - 1 - l)];
    late += std::clamp(1 - in_time, 0.0, 1.0);
  }
  late /= kMoments;
  const double group = std::max(1.0, (server.variability + 1) / 2);
  const double at_idle = chain.idle * group;  // served at once
  const double idle_late = server.service_ms > server.limit_ms ? 1 : 0;
  return ((mean * late) + (at_idle * idle_late)) / (mean + at_idle);
}

double highest_rate(const BatchServer& server) {
  const double allowed = 1 - server.quantile;
  if (server.service_ms > server.limit_ms) return 0;
  double high = 1000.0 * server.batch / server.service_ms;
  double low = 0;
  while (high - low > 0.01 * high) {
    const double middle = (low + high) / 2;
    if (late_share(server, middle) <= allowed)
      low = middle;
    else
      high = middle;
    if (high < 1e-6) return 0;
  }
  return low;
}

}  // namespace partita::fleet
