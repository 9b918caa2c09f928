// Fleet plans for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "fleet/explain.h"
#include "fleet/fleet_file.h"
#include "fleet/nodes.h"
#include "fleet/services.h"

namespace partita::cli {

struct FleetAnswer {
  fleet::FleetFile fleet;
  fleet::Demand demand;
  fleet::Plan plan;
  // Per want of services, which come last in the demand: what each size of instance does.
  std::vector<std::vector<fleet::ServiceChoice>> choices;
  std::optional<fleet::ServiceRule> rule;
  std::vector<fleet::NodeLayout> nodes;
  std::optional<fleet::Explanation> explanation;
  std::vector<std::string> written;  // files
};

std::string draw_fleet_plan(const Look& look, const FleetAnswer& answer);
std::string to_json(const FleetAnswer& answer);

// How many instances serve a want, and how much of it, per (kind, profile).
struct Served {
  int kind = 0;
  int profile = 0;
  std::int64_t instances = 0;
  double amount = 0;
};
std::vector<Served> served(const FleetAnswer& answer, std::size_t want);
// The choice behind instances of a service; nullptr for counts.
const fleet::ServiceChoice* choice_behind(const FleetAnswer& answer, std::size_t want, const Served& by);

}  // namespace partita::cli
