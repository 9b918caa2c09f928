// Device memory of a workload: context and libraries, parameters and their copies, activations.
//
//   MiB = context + context_per_sm * SM + copies * parameters + batch * activations * factor
#pragma once

#include "predict/constants.h"
#include "predict/model.h"
#include "predict/workload.h"

namespace partita::predict {

// The terms, so that fits can be linear in the constants.
struct MemoryTerms {
  double parameters_mib = 0;    // one copy
  double activations_mib = 0;   // per sample: live ones for inference, saved ones for training
  double optimizer_copies = 0;  // over Adam's, for the optimizer
  bool convolutions = false;
};
MemoryTerms memory_terms(const Workload& workload, const Settings& settings);

double memory_mib(const Constants& constants, const Host& host, const Workload& workload, const Settings& settings,
                  double batch, double multiprocessors);

// Outside 10 % of the capacity the answer is right in 98 of 100 cases, inside it is a coin toss.
Fit fit_of(double memory_mib, double capacity_mib);

}  // namespace partita::predict
