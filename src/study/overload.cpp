#include "study/overload.h"

#include <algorithm>
#include <cmath>

#include "study/server_model.h"

namespace partita::study {
namespace {

bool is_open(const Tenant& tenant) { return tenant.arrivals.kind != Arrivals::Kind::closed; }

// Seconds of batches (or of their GPU work) that arrive per second, at the batch size that needs least.
double offered(const Tenant& tenant, const std::vector<double>& seconds) {
  const auto& arrivals = tenant.arrivals;
  double rate = 0;
  if (arrivals.kind == Arrivals::Kind::poisson) rate = arrivals.rate_per_s;
  if (arrivals.kind == Arrivals::Kind::on_off)
    rate = arrivals.rate_per_s * arrivals.on_s / (arrivals.on_s + arrivals.off_s);
  double least = seconds[0];
  for (int n = 2; n <= tenant.batching.max_size; ++n)
    least = std::min(least, seconds[static_cast<std::size_t>(n - 1)] / n);
  return rate * least;
}

// Work per second that each tenant of one server could be given at best.
std::vector<double> best_shares(const Scenario& scenario, const std::vector<std::size_t>& tenants) {
  const Server& server = scenario.servers[static_cast<std::size_t>(scenario.tenants[tenants[0]].server)];
  std::vector<Resident> residents;
  for (const auto t : tenants) residents.push_back({scenario.tenants[t].weight, nullptr});
  if (server.sharing == Sharing::vgpu_equal_share || server.sharing == Sharing::vgpu_fixed_share) {
    auto shares = frame_shares(server.sharing, residents);
    const double useful = server.quantum_s / (server.quantum_s + server.switch_s);
    for (auto& share : shares) share *= share < 1 ? useful : 1;
    return shares;
  }
  std::vector<double> shares(tenants.size(), 1);
  if (server.sharing == Sharing::mps)
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const Tenant& t = scenario.tenants[tenants[i]];
      shares[i] = std::min<double>(t.streams, t.weight / t.service.demand);
    }
  return shares;
}

}  // namespace

std::vector<bool> certainly_overloaded(const Scenario& scenario, const std::vector<bool>& admitted) {
  std::vector<bool> result(scenario.tenants.size(), false);
  for (std::size_t s = 0; s < scenario.servers.size(); ++s) {
    const auto changes = [&](const Reconfiguration& change) { return static_cast<std::size_t>(change.server) == s; };
    if (std::ranges::any_of(scenario.reconfigurations, changes)) continue;
    std::vector<std::size_t> tenants;
    for (std::size_t t = 0; t < scenario.tenants.size(); ++t)
      if (admitted[t] && static_cast<std::size_t>(scenario.tenants[t].server) == s) tenants.push_back(t);
    if (tenants.empty()) continue;
    const auto shares = best_shares(scenario, tenants);
    double sum = 0;
    for (const auto t : tenants) sum += offered(scenario.tenants[t], scenario.tenants[t].service.batch_s);
    const bool all = scenario.servers[s].sharing == Sharing::exclusive && sum >= 1;  // one line for all
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const Tenant& tenant = scenario.tenants[tenants[i]];
      const Service& service = tenant.service;
      const double load = offered(tenant, service.batch_s);
      const bool apart = !service.gpu_s.empty() && scenario.servers[s].sharing != Sharing::exclusive;
      const bool gpu = (apart ? offered(tenant, service.gpu_s) : load) >= shares[i];
      result[tenants[i]] = is_open(tenant) && load > 0 && (all || gpu || load >= tenant.streams);
    }
  }
  return result;
}

bool queue_grows(const Tenant& tenant, const TenantStats& stats) {
  if (!is_open(tenant)) return false;
  if (stats.dropped_requests() > 0) return true;
  const double grown = static_cast<double>(stats.in_system() - stats.in_system_at_clear());
  double chance = 6 * std::sqrt(static_cast<double>(stats.arrivals())) * std::max(1.0, tenant.service.variation) +
                  4.0 * tenant.batching.max_size;
  if (tenant.arrivals.kind == Arrivals::Kind::on_off) chance += 6 * tenant.arrivals.rate_per_s * tenant.arrivals.on_s;
  return grown > chance;
}

}  // namespace partita::study
