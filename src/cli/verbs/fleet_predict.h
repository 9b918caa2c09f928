// What predictions fill in for plan --fleet: points of services without a table, times of jobs that are workloads.
#pragma once

#include <vector>

#include "base/error.h"
#include "fleet/files/demand_file.h"

namespace partita::cli {

// Inference of the services' models (names of workloads) on each plain profile of the fleet's boards: batches 1, 2, 4
// to 64, one to three processes. `not_found` names a model that is no workload.
Result<std::vector<fleet::ServicePoint>> predicted_points(const fleet::DemandFile& file, const fleet::Fleet& fleet);

// Gives each predicted job its ways: on every plain profile that its memory surely fits.
Result<void> predict_jobs(fleet::BatchFile& file, const fleet::Fleet& fleet);

}  // namespace partita::cli
