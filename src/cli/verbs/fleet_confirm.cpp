#include "cli/verbs/fleet_confirm.h"

#include <algorithm>
#include <cmath>

namespace partita::cli {

Result<void> confirm_services(int runs, FleetAnswer& answer) {
  if (!answer.rule) return {};  // no services
  const fleet::ServiceRule& rule = *answer.rule;
  const auto counted = answer.demand.wants.size() - answer.choices.size();
  std::vector<study::ConfirmService> services;
  for (std::size_t s = 0; s < answer.choices.size(); ++s) {
    study::ConfirmService one;
    one.name = answer.demand.wants[counted + s].name;
    one.limit_s = answer.services[s].limit_ms / 1000;
    one.quantile = rule.quantile;
    one.variability = std::max(1.0, rule.variability);
    const auto by = served(answer, counted + s);
    double capacity = 0;
    for (const auto& each : by) capacity += each.amount;
    for (const auto& each : by) {
      const auto* choice = choice_behind(answer, counted + s, each);
      // The margin is as good as a spread: what the plan allows for is the far end of both.
      one.spread = std::max(one.spread, std::log(fleet::longest_factor(rule, choice->sigma)) / fleet::kLongestSigmas);
      one.parts.push_back({each.instances * choice->processes,
                           answer.services[s].rate_per_s * choice->rate_per_s / capacity / choice->processes,
                           choice->latency_ms / 1000, choice->batch});
    }
    services.push_back(std::move(one));
  }
  answer.confirmed = TRY(study::confirm(services, {.runs = runs}));
  return {};
}

}  // namespace partita::cli
