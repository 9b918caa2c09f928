// A scenario run for real: measured beside simulated. Internal to study/.
#pragma once

#include "report/report.h"
#include "study/context.h"
#include "study/provider.h"
#include "study/scenario_file.h"
#include "study/simulator.h"

namespace partita::study {

// Adds a table and a figure to the section and a sentence to the answer, with where it ran.
Result<void> measure_scenario(const ScenarioSpec& spec, const SimulationResult& simulated,
                              const MeasureOptions& options, Context& context, report::Report& report,
                              report::Section& section);

}  // namespace partita::study
