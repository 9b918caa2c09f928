// Measurements made ready for the model: board, partition and workload found.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "predict/dataset.h"
#include "predict/library.h"
#include "predict/model.h"

namespace partita::predict {

struct Case {
  Measurement measured;
  const Workload* workload = nullptr;  // nullptr: no architecture of that name
  std::string no_workload;             // why, then
  Partition partition;
  std::size_t group = 0;  // cases that differ only in batch and partition
};

// A row that cannot be used: its board or profile is not known, or has no figures.
struct Unusable {
  int line = 0;
  Error error;
};

struct Resolved {
  std::vector<Case> cases;  // with the names of the catalog; those left out too
  std::vector<Unusable> unusable;
  std::vector<std::string> assumed;  // each once: "board \"A100 80GB\" is a100-sxm4-80gb (it may be ...)"
};
// A workload without architecture is usable: other profiles follow from two.
Resolved resolve(Library& library, const std::vector<Measurement>& rows);

// Moves those cases to `unusable` that the constants and the boards' figures say nothing about.
void keep_predictable(const Constants& constants, Resolved& resolved);

// One prediction of time per case; cases without architecture get a total of 0. `factors`: per group, or empty.
Result<std::vector<StepTime>> step_times(const Constants& constants, const std::vector<Case>& cases,
                                         const std::vector<Factors>& factors = {});

Result<std::vector<Prediction>> predictions(const Constants& constants, const std::vector<Case>& cases);

}  // namespace partita::predict
