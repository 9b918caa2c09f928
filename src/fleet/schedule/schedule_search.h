// Which job on which place of which GPU. Inside fleet/ only.
#pragma once

#include <vector>

#include "fleet/schedule/anneal.h"
#include "fleet/schedule/schedule.h"

namespace partita::fleet {

struct Found {
  std::vector<GpuInUse> gpus;  // as JobTable::kind_of_gpu
  std::vector<JobSpot> spots;  // per job
  std::int64_t steps = 0;
  bool stopped = false;
};

// Of a search that may take as many as it asks for.
std::int64_t usual_steps(std::size_t jobs);

// One or two GPUs are annealed together, from several starts. More: jobs are dealt by area, then the GPU that ends last
// is annealed with another one, again and again. Ends early at the bound (seconds). Each job fits somewhere.
Found search(const JobTable& table, const ScheduleOptions& options, double bound_s);

}  // namespace partita::fleet
