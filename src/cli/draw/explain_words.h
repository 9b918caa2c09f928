// What --explain found, in words: the same for the terminal and for the page.
#pragma once

#include <string>
#include <vector>

#include "cli/draw/draw_fleet.h"
#include "report/report.h"

namespace partita::cli {

// "12", "12.5".
std::string number_word(double value);
// A cost: "14 GPUs" where every GPU costs 1, else "cost 34.5".
std::string cost_word(const FleetAnswer& answer, double value);
bool has_prices(const FleetAnswer& answer);
// Its amounts are requests per second.
bool is_service(const FleetAnswer& answer, std::size_t want);

struct Explained {
  std::vector<std::string> lines;  // lower case, no full stop
  std::vector<report::Table> tables;
};
// Of the steady plan; of timed leases and jobs. Empty where no explanation was asked for. Names are as the files have
// them.
Explained explained(const FleetAnswer& answer);
Explained explained_leases(const FleetAnswer& answer);
Explained explained_jobs(const FleetAnswer& answer);

}  // namespace partita::cli
