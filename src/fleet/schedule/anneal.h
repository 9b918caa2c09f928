// Simulated annealing of jobs over places of a few GPUs. Inside fleet/ only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "fleet/schedule/job_table.h"

namespace partita::fleet {

// Repeatable on every machine (Steele, Lea, Flood: SplitMix, 2014).
struct SplitMix {
  std::uint64_t state = 0;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

struct GpuInUse {
  int kind = 0;
  const Order* order = nullptr;
};

struct Annealed {
  std::vector<JobSpot> spots;  // per job of the list given; gpu: index in the GPUs given
  std::vector<double> costs;   // per GPU, in microseconds: its last end, or its part of the weighted mean completion
  double cost = 0;             // what is made least: the largest of them, or their sum
};

// The best of one run of `steps`, or of those until `stop` said so (empty: never). Jobs that fit on none of these GPUs
// must not be given.
Annealed anneal(const JobTable& table, const std::vector<GpuInUse>& gpus, const std::vector<int>& jobs,
                std::int64_t steps, std::uint64_t seed, const std::function<bool()>& stop = {});

// The order of a place's jobs: shortest time per priority first.
bool goes_before(const JobTable& table, int kind, int profile, int a, int b);

}  // namespace partita::fleet
