#include "study/confirm.h"

#include <algorithm>

#include "study/random.h"
#include "study/simulator.h"

namespace partita::study {

namespace {

constexpr double kWarmup = 0.05;   // of a run
constexpr double kBatches = 1000;  // full ones, at least, of each kind of process

// Groups of requests that come at once; on average (variability + 1) / 2 in each.
Arrivals arrivals(double rate_per_s, double variability, double until_s, Random& random) {
  Arrivals out;
  if (variability <= 1) {
    out.kind = Arrivals::Kind::poisson;
    out.rate_per_s = rate_per_s;
    return out;
  }
  out.kind = Arrivals::Kind::trace;
  const double group = (variability + 1) / 2;
  for (double now = random.exponential(group / rate_per_s); now < until_s;
       now += random.exponential(group / rate_per_s))
    do out.times_s.push_back(now);
    while (random.uniform() > 1 / group);
  return out;
}

struct RunResult {
  double late = 0, all = 0;
};

Result<RunResult> play(const ConfirmService& service, const ConfirmOptions& options, std::uint64_t seed) {
  Random random(seed, 1);
  const double factor = service.spread > 0 ? portable_exp(service.spread * random.normal()) : 1;
  double total = 0;
  for (const auto& part : service.parts) total += part.rate_per_s * static_cast<double>(part.processes);
  RunResult out;
  for (std::size_t i = 0; i < service.parts.size(); ++i) {
    const auto& part = service.parts[i];
    const double weight = part.rate_per_s * static_cast<double>(part.processes) / total;
    // Processes are alike: one that is watched longer tells as much as many.
    Scenario scenario;
    scenario.seed = seed + (0x9e3779b97f4a7c15ULL * (i + 1));
    scenario.duration_s =
        std::max(kBatches * part.batch, weight * static_cast<double>(options.requests)) / part.rate_per_s;
    scenario.warmup_s = kWarmup * scenario.duration_s;
    scenario.servers.push_back({.name = "process"});
    Tenant tenant;
    tenant.name = service.name;
    tenant.arrivals = arrivals(part.rate_per_s, service.variability, scenario.duration_s, random);
    tenant.batching.max_size = part.batch;
    tenant.service.batch_s.assign(static_cast<std::size_t>(part.batch), part.service_s * factor);
    tenant.slo_s = service.limit_s;
    scenario.tenants.push_back(std::move(tenant));
    const auto result = TRY(simulate(scenario)).tenants.front();
    const double met = result.overloaded ? 0 : result.slo_met.value_or(1);
    out.late += weight * (1 - met);
    out.all += weight;
  }
  return out;
}

Result<void> check(const ConfirmService& service) {
  const auto good = [](const ConfirmPart& part) {
    return part.processes > 0 && part.rate_per_s > 0 && part.service_s > 0 && part.batch > 0;
  };
  if (service.parts.empty() || !std::ranges::all_of(service.parts, good))
    return fail(ErrorCode::invalid, "service " + service.name + ": expected processes with rates and times above 0");
  return {};
}

}  // namespace

Result<std::vector<Confirmed>> confirm(const std::vector<ConfirmService>& services, const ConfirmOptions& options) {
  std::vector<Confirmed> out;
  for (std::size_t s = 0; s < services.size(); ++s) {
    TRY_VOID(check(services[s]));
    Confirmed one{services[s].name, options.runs, 0, 0, 0};
    for (int run = 0; run < options.runs; ++run) {
      const auto seed = options.seed + (static_cast<std::uint64_t>(run) << 20U) + s;
      const auto played = TRY(play(services[s], options, seed));
      const double late = played.late / played.all;
      one.met += late <= 1 - services[s].quantile + 1e-12 ? 1 : 0;
      one.late_share += late / options.runs;
      one.worst_share = std::max(one.worst_share, late);
    }
    out.push_back(one);
  }
  return out;
}

}  // namespace partita::study
