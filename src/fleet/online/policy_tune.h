// Weights for a potential, found by simulation: a cross-entropy search. Each generation draws weights around the mean,
// lets them serve the same traces, and moves mean and spread to those of the best quarter. Repeats exactly for a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fleet/online/online_mix.h"
#include "fleet/online/potential.h"

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

// Shares accepted, of requests and of their memory slices: means over the cases.
struct Accepted {
  double requests = 0, slices = 0;
  double mean() const { return (requests + slices) / 2; }
};

// Start and end of the search serve the same traces: those given, and for each mix one that the search has not seen.
struct Tuned {
  Potential weights;  // the better of both
  Accepted accepted;
  Accepted at_start;        // by the weights at the start
  bool kept_start = false;  // no better ones were found
  int generations = 0;
};
Tuned tune(const GpuStates& states, const Features& features, const TuneCases& cases, const TuneOptions& options);

Accepted accepted(const GpuStates& states, const RunResult& result);

}  // namespace partita::fleet
