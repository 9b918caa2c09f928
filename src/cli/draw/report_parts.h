// Sections of a fleet plan's page. Inside draw/ only.
#pragma once

#include "cli/draw/draw_fleet.h"
#include "report/report.h"

namespace partita::cli {

inline constexpr std::size_t kMostTableRows = 200;  // the rest is counted

// Kinds of GPU, how they are cut, and which nodes look how.
report::Section gpus_section(const FleetAnswer& answer);
// What is wanted and what serves it; services with what was promised and what simulation says.
report::Section demand_section(const FleetAnswer& answer);
report::Section services_section(const FleetAnswer& answer);
report::Section leases_section(const FleetAnswer& answer, const fleet::LeasePlan& plan);
report::Section jobs_section(const FleetAnswer& answer, const fleet::BatchPlan& plan);
report::Section explanation_section(const FleetAnswer& answer);

// Cuts a long table; what to say about it, or nothing.
std::string cut_rows(report::Table& table, std::string_view what, std::size_t most = kMostTableRows);

}  // namespace partita::cli
