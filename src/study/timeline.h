// Changes of layout while others run: what each tenant got over time, in a figure and in words. Internal to study/.
#pragma once

#include "report/report.h"
#include "study/scenario_file.h"

namespace partita::study {

void describe_changes(const ScenarioSpec& spec, const Scenario& scenario, const SimulationResult& result,
                      report::Report& report, report::Section& section);

}  // namespace partita::study
