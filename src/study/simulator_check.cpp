#include "study/simulator_check.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace partita::study {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostTenants = 10'000, kMostServers = 10'000, kMostSamples = 10'000'000;
constexpr int kMostClients = 1'000'000, kMostStreams = 100'000, kLargestBatch = 1'000'000;

// The object that a message names, and the first thing wrong with it.
class Checker {
 public:
  explicit Checker(std::string object) : object_(std::move(object)) {}

  // low <= value <= high and finite; `above` asks for low < value.
  Checker& in(const char* field, double value, double low, double high, bool above = false) {
    if (value >= low && value <= high && std::isfinite(value) && !(above && value == low)) return *this;
    const std::string lower = above ? fmt::format("above {:g}", low) : fmt::format("at least {:g}", low);
    const std::string upper = high == kInfinite ? "and finite" : fmt::format("and at most {:g}", high);
    return wrong(field, fmt::format("expected a number {} {}, found {:g}", lower, upper, value));
  }
  Checker& wrong(const char* field, const std::string& what) {
    if (error_.empty()) error_ = fmt::format("{}: {}: {}", object_, field, what);
    return *this;
  }
  bool good() const { return error_.empty(); }
  Result<void> result() const {
    if (good()) return {};
    return fail(ErrorCode::invalid, error_);
  }

 private:
  std::string object_, error_;
};

void check_service(Checker& c, const Service& service, int max_size) {
  c.in("service.variation", service.variation, 0, 100);
  c.in("service.demand", service.demand, 0, 1, true);
  c.in("service.memory_mib", service.memory_mib, 0, kInfinite);
  if (service.batch_s.size() < static_cast<std::size_t>(max_size))
    c.wrong("service.batch_s",
            fmt::format("expected the seconds of batches of 1 to batching.max_size = {}, found {} {}", max_size,
                        service.batch_s.size(), service.batch_s.size() == 1 ? "number" : "numbers"));
  for (std::size_t i = 0; i < service.batch_s.size() && c.good(); ++i)
    c.in(fmt::format("service.batch_s of {}", i + 1).c_str(), service.batch_s[i], 1e-9, 1e9);
  if (!service.gpu_s.empty() && service.gpu_s.size() != service.batch_s.size())
    c.wrong("service.gpu_s", fmt::format("expected none or as many as batch_s has ({}), found {}",
                                         service.batch_s.size(), service.gpu_s.size()));
  for (std::size_t i = 0; i < service.gpu_s.size() && c.good(); ++i)
    c.in(fmt::format("service.gpu_s of {}", i + 1).c_str(), service.gpu_s[i], 0, service.batch_s[i], true);
}

void check_arrivals(Checker& c, const Arrivals& arrivals) {
  switch (arrivals.kind) {
    case Arrivals::Kind::closed:
      c.in("arrivals.clients", arrivals.clients, 1, kMostClients);
      c.in("arrivals.think_s", arrivals.think_s, 0, kInfinite);
      break;
    case Arrivals::Kind::poisson:
      c.in("arrivals.rate_per_s", arrivals.rate_per_s, 0, 1e9);
      break;
    case Arrivals::Kind::on_off:
      c.in("arrivals.rate_per_s", arrivals.rate_per_s, 0, 1e9);
      c.in("arrivals.on_s", arrivals.on_s, 1e-6, kInfinite);
      c.in("arrivals.off_s", arrivals.off_s, 1e-6, kInfinite);
      break;
    case Arrivals::Kind::trace:
      for (std::size_t i = 0; i < arrivals.times_s.size() && c.good(); ++i) {
        const double before = i == 0 ? 0 : arrivals.times_s[i - 1];
        if (!(arrivals.times_s[i] >= before) || !std::isfinite(arrivals.times_s[i]))
          c.wrong("arrivals.times_s", fmt::format("expected finite, ascending times from 0 on, found {:g} after {:g}",
                                                  arrivals.times_s[i], before));
      }
      break;
  }
}

void check_server_index(Checker& c, int server, std::size_t servers) {
  if (server < 0 || static_cast<std::size_t>(server) >= servers)
    c.wrong("server", fmt::format("expected 0 to {}, found {}", servers - 1, server));
}

Result<void> check_tenant(const Tenant& tenant, const Scenario& scenario) {
  Checker c(fmt::format("tenant {}", tenant.name));
  check_server_index(c, tenant.server, scenario.servers.size());
  check_arrivals(c, tenant.arrivals);
  c.in("batching.max_size", tenant.batching.max_size, 1, kLargestBatch);
  c.in("batching.max_delay_s", tenant.batching.max_delay_s, 0, kInfinite);
  if (!c.good()) return c.result();
  check_service(c, tenant.service, tenant.batching.max_size);
  const Sharing sharing = scenario.servers[static_cast<std::size_t>(tenant.server)].sharing;
  c.in("weight", tenant.weight, 0, sharing == Sharing::mps ? 1 : kInfinite, true);
  if (tenant.slo_s) c.in("slo_s", *tenant.slo_s, 0, kInfinite, true);
  c.in("streams", tenant.streams, 1, kMostStreams);
  if (tenant.streams > 1 && sharing != Sharing::mps)
    c.wrong("streams", fmt::format("expected 1 on a server that is not shared by MPS, found {}", tenant.streams));
  return c.result();
}

Result<void> check_server(const Server& server, std::size_t index) {
  Checker c(fmt::format("server {} ({})", index, server.name));
  c.in("quantum_s", server.quantum_s, 1e-7, 1e6);
  c.in("switch_s", server.switch_s, 0, 1e6);
  if (!(server.capacity_mib > 0)) c.in("capacity_mib", server.capacity_mib, 0, kInfinite, true);
  c.in("contention", server.contention, 0, 1000);
  c.in("neighbour_loss", server.neighbour_loss, 0, 1000);
  if (!(server.saturation >= 1))
    c.wrong("saturation", fmt::format("expected at least 1 or infinity, found {:g}", server.saturation));
  return c.result();
}

Result<void> check_reconfiguration(const Reconfiguration& change, std::size_t index, const Scenario& scenario) {
  Checker c(fmt::format("reconfiguration {}", index));
  check_server_index(c, change.server, scenario.servers.size());
  c.in("at_s", change.at_s, 0, kInfinite);
  c.in("down_s", change.down_s, 0, kInfinite);
  if (change.capacity_mib && !(*change.capacity_mib > 0))
    c.in("capacity_mib", *change.capacity_mib, 0, kInfinite, true);
  for (const auto& [tenant, service] : change.services) {
    if (!c.good()) break;
    if (tenant < 0 || static_cast<std::size_t>(tenant) >= scenario.tenants.size())
      return c.wrong("services", fmt::format("expected tenants 0 to {}, found {}", scenario.tenants.size() - 1, tenant))
          .result();
    const Tenant& t = scenario.tenants[static_cast<std::size_t>(tenant)];
    if (t.server != change.server)
      c.wrong("services", fmt::format("expected tenants of server {}, found {}, which is on server {}", change.server,
                                      t.name, t.server));
    Checker of_tenant(fmt::format("reconfiguration {}: tenant {}", index, t.name));
    check_service(of_tenant, service, t.batching.max_size);
    TRY_VOID(of_tenant.result());
  }
  return c.result();
}

// After each reconfiguration the admitted tenants of its server must fit.
Result<void> check_memory_over_time(const Scenario& scenario) {
  const auto in = admitted(scenario);
  std::vector<double> memory;
  for (const auto& tenant : scenario.tenants) memory.push_back(tenant.service.memory_mib);
  std::vector<double> capacity;
  for (const auto& server : scenario.servers) capacity.push_back(server.capacity_mib);
  for (std::size_t i = 0; i < scenario.reconfigurations.size(); ++i) {
    const auto& change = scenario.reconfigurations[i];
    const auto server = static_cast<std::size_t>(change.server);
    if (change.capacity_mib) capacity[server] = *change.capacity_mib;
    for (const auto& [tenant, service] : change.services) memory[static_cast<std::size_t>(tenant)] = service.memory_mib;
    double sum = 0;
    for (std::size_t t = 0; t < scenario.tenants.size(); ++t) {
      if (!in[t] || scenario.tenants[t].server != change.server) continue;
      sum += memory[t];
      if (sum > capacity[server])
        return fail(
            ErrorCode::invalid,
            fmt::format("reconfiguration {}: tenant {}: service.memory_mib: the tenants of server {} ({}) need "
                        "{:g} MiB afterwards, which has {:g}",
                        i, scenario.tenants[t].name, server, scenario.servers[server].name, sum, capacity[server]));
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Scenario& scenario) {
  Checker c("scenario");
  c.in("number of servers", static_cast<double>(scenario.servers.size()), 1, kMostServers);
  c.in("number of tenants", static_cast<double>(scenario.tenants.size()), 1, kMostTenants);
  c.in("duration_s", scenario.duration_s, 0, 1e12, true);
  c.in("warmup_s", scenario.warmup_s, 0, kInfinite);
  if (scenario.warmup_s >= scenario.duration_s)
    c.wrong("warmup_s",
            fmt::format("expected less than duration_s = {:g}, found {:g}", scenario.duration_s, scenario.warmup_s));
  c.in("sample_interval_s", scenario.sample_interval_s, 0, kInfinite);
  if (scenario.sample_interval_s > 0)
    c.in("samples (duration_s / sample_interval_s * tenants)",
         scenario.duration_s / scenario.sample_interval_s * static_cast<double>(scenario.tenants.size()), 0,
         kMostSamples);
  TRY_VOID(c.result());
  for (std::size_t i = 0; i < scenario.servers.size(); ++i) TRY_VOID(check_server(scenario.servers[i], i));
  std::set<std::string> names;
  for (const auto& tenant : scenario.tenants) {
    if (tenant.name.empty()) return fail(ErrorCode::invalid, "tenant: name: expected one, found none");
    if (!names.insert(tenant.name).second)
      return fail(ErrorCode::invalid,
                  fmt::format("tenant {}: name: expected another, two tenants have it", tenant.name));
    TRY_VOID(check_tenant(tenant, scenario));
  }
  for (std::size_t i = 0; i < scenario.reconfigurations.size(); ++i) {
    const auto& changes = scenario.reconfigurations;
    TRY_VOID(check_reconfiguration(changes[i], i, scenario));
    if (i > 0 && changes[i].at_s < changes[i - 1].at_s)
      return fail(ErrorCode::invalid,
                  fmt::format("reconfiguration {}: at_s: expected ascending times, found {:g} after {:g}", i,
                              changes[i].at_s, changes[i - 1].at_s));
  }
  return check_memory_over_time(scenario);
}

std::vector<bool> admitted(const Scenario& scenario) {
  std::vector<double> used(scenario.servers.size(), 0);
  std::vector<bool> result;
  for (const auto& tenant : scenario.tenants) {
    const auto server = static_cast<std::size_t>(tenant.server);
    const bool fits =
        !tenant.absent && used[server] + tenant.service.memory_mib <= scenario.servers[server].capacity_mib;
    if (fits) used[server] += tenant.service.memory_mib;
    result.push_back(fits);
  }
  return result;
}

}  // namespace partita::study
