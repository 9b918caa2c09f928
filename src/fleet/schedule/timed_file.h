// The parts of a demand file that have times: batch jobs and leases that begin and end. Text in, struct out.
//
//   jobs:
//     - {name: nightly, times_s: {1g.10gb: 98.6, 3g.40gb: 36.2}, count: 4}     # by profile
//     - {name: tuning, times_s: {1: 400, 2: 210, 7: 70}, memory: 8GiB, release_s: 60, priority: 2}   # by compute
//     slices
//     - {name: train, workload: resnet50, training: true, batch: 64, samples: 2000000}   # times are predicted
//   batch:                         # how they are scheduled
//     goal: makespan               # or mean_completion; makespan unless said
//     deadline_s: 7200             # on open fleets: as many GPUs as it takes
//     create_s: {1: 0.16, 7: 0.24} # times of reconfiguration by compute slices, instead of the measured ones
//     destroy_s: {1: 0.2, 7: 0.22}
//   leases:
//     - {profile: 3g.40gb, from_s: 0, for_s: 7200, count: 3, name: course}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "fleet/schedule/calendar.h"
#include "fleet/schedule/jobs.h"

namespace partita::fleet {

// What a predicted job does, for the caller to fill Job::ways from.
struct PredictedWork {
  std::size_t job = 0;  // index in BatchFile::jobs
  std::string workload;
  bool training = false;
  int batch = 1;
  double samples = 0;
};

struct BatchFile {
  std::vector<Job> jobs;  // ways by kind of the fleet that the file was read for
  std::vector<PredictedWork> predicted;
  JobGoal goal = JobGoal::makespan;
  std::optional<double> deadline_s;
  std::map<int, double> create_s, destroy_s;  // by compute slices; empty: as measured
};

// `invalid` names file, line and key; profiles that no board has are `not_found` with the nearest names.
Result<void> read_jobs(const YamlPlace& place, const YamlNode& node, const Fleet& fleet, BatchFile& into);
Result<void> read_batch(const YamlPlace& place, const YamlNode& node, BatchFile& into);
Result<std::vector<TimedLease>> read_leases(const YamlPlace& place, const YamlNode& node, const Fleet& fleet);

// The times of a table with columns gpu, gpc_slices, create_s, destroy_s per kind and profile: those of the product
// that the board's name contains, else the longest of the nearest size; `assumed` says for which boards. The file's own
// times go before.
Result<std::vector<std::vector<ReconfigureTime>>> reconfigure_times(std::string_view table, const std::string& file,
                                                                    const Fleet& fleet, const BatchFile& batch,
                                                                    std::vector<std::string>& assumed);

}  // namespace partita::fleet
