#include "fleet/services/queueing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace partita::fleet {

namespace {

constexpr int kGrain = 32;      // larger batches are counted in units of batch / 32, arrivals rounded up
constexpr int kGroupGrain = 8;  // large groups in units of group / 8
constexpr int kMoments = 16;    // of a service at which an arrival is looked at
constexpr double kTail = 1e-9;

// What is counted in units, so that work stays bounded however large batches and groups are. Rounded so that the true
// server is never slower: where a unit is several batches, that many services are one, which always takes them all.
struct Counted {
  double service_ms = 0;
  int unit = 1;           // requests
  std::size_t batch = 1;  // units
};

Counted counted(const BatchServer& server) {
  const int least = std::max(1, server.batch / kGrain);
  const int wanted = static_cast<int>(mean_group(server.variability) / kGroupGrain);
  if (wanted <= least) return {server.service_ms, least, static_cast<std::size_t>(server.batch / least)};
  if (const int joined = wanted / server.batch; joined >= 1)
    return {server.service_ms * joined, server.batch * joined, 1};
  const auto units = std::bit_ceil(static_cast<unsigned>((server.batch + wanted - 1) / wanted));
  const int unit = server.batch / static_cast<int>(units);
  return {server.service_ms, unit, static_cast<std::size_t>(server.batch / unit)};
}

// Whole services within the limit.
std::size_t services_within(double services) {
  return static_cast<std::size_t>(std::floor(std::clamp(services, 0.0, 1e9) + 1e-9));
}

// The distribution of arrivals in a time in which `mean` come, counted in units of `unit`, rounded up. Groups have
// geometric sizes: Panjer's recursion.
std::vector<double> arrivals(double mean, double variability, int unit) {
  const double group = mean_group(variability);
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
  while (out.size() > 1 && out.back() < kTail / 10) out.pop_back();
  return out;
}

// How many of its own group are ahead of a request, in units, rounded up: geometric, too.
std::vector<double> ahead_in_group(double variability, int unit) {
  const double stay = 1 - (1 / mean_group(variability));
  std::vector<double> out{1 - stay};
  double p = 1 - stay;
  double left = stay;
  for (std::size_t n = 1; left > kTail; ++n) {
    p *= stay;
    left -= p;
    const auto at = (n + static_cast<std::size_t>(unit) - 1) / static_cast<std::size_t>(unit);
    if (at >= out.size()) out.push_back(0);
    out[at] += p;
  }
  return out;
}

std::vector<double> sum_of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) out[i + j] += a[i] * b[j];
  return out;
}

struct Chain {
  std::vector<double> left;  // what waits when a service begins, after it took its batch
  double idle = 0;           // probability that nothing waits when a service ends
  bool stable = false;
};

// Power iteration on the queue at ends of service. When nothing waits, the first request of the next group begins one
// alone, however soon the others follow.
Chain stationary(const std::vector<double>& come, const std::vector<double>& group, std::size_t batch) {
  const std::size_t size = (6 * batch) + come.size() + group.size();
  std::vector<double> now(size), next(size);
  now[0] = 1;
  Chain out{std::vector<double>(size), 0, false};
  for (int round = 0; round < 400 && !out.stable; ++round) {
    std::ranges::fill(out.left, 0);
    for (std::size_t q = 1; q < size; ++q) out.left[q > batch ? q - batch : 0] += now[q];
    for (std::size_t g = 0; g < group.size(); ++g) out.left[g] += now[0] * group[g];
    std::ranges::fill(next, 0);
    for (std::size_t l = 0; l < size; ++l) {
      if (out.left[l] < 1e-13) continue;
      const std::size_t inside = std::min(come.size(), size - 1 - l);
      for (std::size_t a = 0; a < inside; ++a) next[l + a] += out.left[l] * come[a];
      for (std::size_t a = inside; a < come.size(); ++a) next[size - 1] += out.left[l] * come[a];
    }
    double change = 0;
    for (std::size_t q = 0; q < size; ++q) change += std::abs(next[q] - now[q]);
    now.swap(next);
    out.stable = change < 1e-7;
  }
  out.stable = out.stable && now[size - 1] < 1e-6;
  out.idle = now[0];
  return out;
}

// Of requests whose position is the sum of two numbers, the share at `room` or behind it.
double share_behind(const std::vector<double>& a, const std::vector<double>& b, std::size_t room) {
  std::vector<double> below(b.size());
  double cumulated = 0;
  for (std::size_t i = 0; i < b.size(); ++i) below[i] = cumulated += b[i];
  double in_time = 0;
  for (std::size_t i = 0; i < a.size() && i < room; ++i)
    in_time += a[i] * below[std::min(below.size() - 1, room - 1 - i)];
  return std::clamp(1 - in_time, 0.0, 1.0);
}

}  // namespace

double mean_group(double variability) { return std::max(1.0, (variability + 1) / 2); }

double late_share(const BatchServer& server, double rate_per_s) {
  const auto [service_ms, unit, batch] = counted(server);
  const double mean = rate_per_s * service_ms / 1000;
  const double services = server.limit_ms / service_ms;  // that fit into the limit
  if (mean <= 0) return services < 1 ? 1 : 0;
  if (mean >= static_cast<double>(batch) * unit || mean > 600.0 * unit) return 1;
  const auto come = arrivals(mean, server.variability, unit);
  if (come.empty()) return 1;
  const auto group = ahead_in_group(server.variability, unit);
  const auto chain = stationary(come, group, batch);
  if (!chain.stable) return 1;
  // A request that comes at a moment of a service waits for its end, for the full batches before it, and is served.
  double late = 0;
  for (int m = 0; m < kMoments; ++m) {
    const double spare = services - (1 - (m / static_cast<double>(kMoments))) - 1;  // as if it came at once
    const auto before = arrivals(mean * (m + 1) / kMoments, server.variability, unit);
    const auto room = spare < 0 ? 0 : (services_within(spare) + 1) * batch;
    late += share_behind(chain.left, sum_of(before, group), room);
  }
  late /= kMoments;
  // Of a group that comes to a free process the first is served, and the others wait for its end.
  const double at_idle = chain.idle * mean_group(server.variability);
  const auto room = services < 1 ? 0 : ((services_within(services) - 1) * batch) + 1;
  const double idle_late = share_behind({1}, group, room);
  return ((mean * late) + (at_idle * idle_late)) / (mean + at_idle);
}

double late_of_groups(const BatchServer& server) {
  const auto services = services_within(server.limit_ms / server.service_ms);
  if (services == 0) return 1;
  const double behind = static_cast<double>(services - 1) * server.batch;  // that are in time, behind the first
  return std::pow(1 - (1 / mean_group(server.variability)), behind + 1);
}

double highest_rate(const BatchServer& server, double more_than) {
  const double allowed = 1 - server.quantile;
  if (server.service_ms > server.limit_ms || late_of_groups(server) > allowed) return 0;
  double high = 1000.0 * server.batch / server.service_ms;
  if (more_than > 0 && (more_than >= high || late_share(server, more_than) > allowed)) return 0;
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
