#include "study/isolation.h"

namespace partita::study {

// The others stay as names that never ask for anything and hold no memory: places and random streams remain.
Scenario alone(const Scenario& scenario, std::size_t tenant) {
  Scenario result = scenario;
  const int own = scenario.tenants[tenant].server;
  for (std::size_t t = 0; t < result.tenants.size(); ++t)
    if (t != tenant) result.tenants[t].absent = true;
  std::erase_if(result.reconfigurations, [&](const Reconfiguration& change) { return change.server != own; });
  for (auto& change : result.reconfigurations)
    std::erase_if(change.services, [&](const auto& entry) { return static_cast<std::size_t>(entry.first) != tenant; });
  return result;
}

Result<std::vector<std::optional<Isolation>>> isolation(const Scenario& scenario, const SimulationResult& shared) {
  std::vector<std::optional<Isolation>> result;
  for (std::size_t t = 0; t < scenario.tenants.size(); ++t) {
    result.emplace_back();
    if (!shared.tenants[t].admitted) continue;
    const auto single = TRY(simulate(alone(scenario, t)));
    const auto& base = single.tenants[t];
    if (base.completed == 0 || base.overloaded) continue;
    result.back() =
        Isolation{1 - shared.tenants[t].throughput_per_s / base.throughput_per_s, shared.tenants[t].p99_s / base.p99_s};
  }
  return result;
}

}  // namespace partita::study
