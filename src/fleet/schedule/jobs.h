// Batch jobs that run on instances of any of several sizes, and a schedule of them. Plain values.
//
// A schedule cuts GPUs in the course of time: an instance is created, runs its jobs one after the other, and is
// destroyed when others need its slices. A GPU creates and destroys one instance at a time, while its other instances
// go on. Time begins with the fleet as it is; what is pinned stays, and no job runs on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/exact/fleet.h"

namespace partita::fleet {

inline constexpr std::size_t kMostJobs = 100'000;
inline constexpr double kMostSeconds = 1e7;  // of one job, or until its release

struct JobWay {
  int kind = 0;        // index in Fleet::kinds
  int profile = 0;     // index in Board::profiles
  double seconds = 0;  // above 0: how long the job takes there; counted in whole microseconds
};

struct Job {
  std::string name;
  std::vector<JobWay> ways;  // at least one
  double release_s = 0;      // not begun earlier
  double priority = 1;       // above 0: weight of its completion; ahead of others where that costs no makespan
};

struct ReconfigureTime {
  double create_s = 0, destroy_s = 0;
};

enum class JobGoal {
  makespan,         // the end of the last job, then the mean completion
  mean_completion,  // mean of the jobs' ends weighted with their priorities
};

struct Batch {
  std::vector<Job> jobs;
  std::vector<std::vector<ReconfigureTime>> times;  // per kind of the fleet, per profile of its board
  JobGoal goal = JobGoal::makespan;
};

struct JobRun {
  int job = 0;  // index in Batch::jobs
  double begin_s = 0, end_s = 0;
};

struct TimedInstance {
  plan::Placed placed;
  bool there = false;                       // from the start: not created
  double create_s = 0, ready_s = 0;         // creation begins, ends; 0 when there
  std::vector<JobRun> runs;                 // in order of time
  std::optional<double> destroy_s, gone_s;  // destruction begins, ends; nullopt: stays
};

struct GpuSchedule {
  int kind = 0;
  std::vector<TimedInstance> instances;  // by creation
};

struct Schedule {
  std::vector<GpuSchedule> gpus;  // those that run jobs
  double makespan_s = 0;
  double mean_completion_s = 0;  // weighted with priorities
  double bound_s = 0;            // no schedule is below, in what the goal makes least
  std::int64_t steps = 0;        // of the search
  bool stopped = false;          // by the clock: another run may find another schedule

  double value(JobGoal goal) const { return goal == JobGoal::makespan ? makespan_s : mean_completion_s; }
  bool optimal(JobGoal goal) const { return value(goal) <= bound_s + 1e-6; }
};

}  // namespace partita::fleet
