// Weights for a potential, found by simulation: a cross-entropy search. Each generation draws weights around the mean,
// lets them serve the same traces, and moves mean and spread to those of the best quarter. Repeats exactly for a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fleet/online_mix.h"
#include "fleet/potential.h"

namespace partita::fleet {

struct TuneOptions {
  int generations = 70;
  int samples = 20;               // per generation
  std::size_t requests = 80'000;  // per mix; twice as many in the last third of the generations
  std::uint64_t seed = 1;
  std::optional<Potential> start;  // else a plain guess: a region is worth its cells
  double spread = 1;               // of each weight at first
  std::function<bool()> stop;      // asked between samples; what was found until then is returned
  std::function<void(int generation, double score)> progress;
};

// What weights are tuned on: mixes, drawn afresh for each generation, or a trace of the user's.
struct TuneCases {
  std::vector<Mix> mixes;
  struct Given {
    std::vector<Request> trace;
    std::uint32_t gpus = 1;
    double patience = 0;
  };
  std::vector<Given> traces;
};

struct Tuned {
  Potential weights;
  double score = 0;  // of the last generation's best: mean over the cases of (requests + memory slices accepted) / 2
  int generations = 0;
};
Tuned tune(const GpuStates& states, const Features& features, const TuneCases& cases, const TuneOptions& options);

// Accepted over asked, the mean of requests and memory slices.
double accepted(const GpuStates& states, const RunResult& result);

}  // namespace partita::fleet
