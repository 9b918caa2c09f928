// A demand as text. Text in, struct out; what it names in turn (tables of measured points) the caller reads.
//
//   version: v1
//   goal: cost                    # or touched, disturbance (fleet.h); cost unless said
//   demand:
//     - {profile: 3g.20gb, count: 12}              # by name, on the boards that have it
//     - {compute: 3, memory: 20GiB, count: 4}      # the smallest profiles with at least so much, on every board
//     - {profile: 1g.10gb, count: 2, boards: [h100-sxm5-80gb], name: notebooks}
//   services:
//     - {model: bert, rate_per_s: 19, limit_ms: 6434, name: search}
//   points:                       # what an instance delivers (services.h)
//     table: parvagpu_a100_80gb_inference_profiles.csv   # of data/measured, or a file beside this one; without one,
//                                                        # points are predicted and models are workloads
//     rule: queueing              # or saturated
//     quantile: 0.99
//     variability: 1
//     time_margin: 1
//     without_suspect: true
//   jobs, batch, leases:          # what has times (timed_file.h)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fleet/exact/fleet.h"
#include "fleet/schedule/timed_file.h"
#include "fleet/services/services.h"

namespace partita::fleet {

struct PointsFile {
  std::string table;  // a file's name; "": points are predicted
  ServiceRule rule;
  bool without_suspect = false;
};

struct DemandFile {
  Demand demand;  // counts; services come after them once points are there
  std::vector<Service> services;
  std::optional<PointsFile> points;
  BatchFile batch;
  std::vector<TimedLease> leases;

  bool steady() const { return !demand.wants.empty() || !services.empty(); }  // something that has no times
};

// `invalid` names file, line and key. A profile that no board of the fleet has is `not_found` with the nearest names; a
// line that only says what another one contradicts (a count twice) is `invalid`.
Result<DemandFile> read_demand(std::string_view text, const std::string& file, const Fleet& fleet);

// Points from a table with columns model, gpc_slices (or compute_slices), batch, procs (or processes), throughput_total
// (or per_s), latency_s or latency_ms, and perhaps board, not_run, suspect.
Result<std::vector<ServicePoint>> read_points(std::string_view text, const std::string& file, bool without_suspect);

// The services of a demand file as wants behind the counted ones, and what each chose.
Result<std::vector<std::vector<ServiceChoice>>> add_services(const DemandFile& file,
                                                             const std::vector<ServicePoint>& points,
                                                             const Fleet& fleet, Demand& into);

}  // namespace partita::fleet
