// What a partition delivers: an operation-level roofline with a host term, memory, neighbours, virtualisation, and an
// interval for every figure. Pure. Constants are data (data/predict/constants.yaml), written by `partita predict fit`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "catalog/board.h"
#include "predict/workload.h"

namespace partita::predict {

// Fitted constants and priors, each with unit, source and standard error in its file.
struct Constants;
Result<const Constants*> shipped_constants();
Result<Constants> read_constants(std::string_view text, const std::string& file);

// Where it runs.
struct Partition {
  const catalog::Board* board = nullptr;
  std::optional<int> profile;  // index in Board::profiles; nullopt: the whole GPU without MIG
  std::optional<int> compute;  // index in Profile::compute; nullopt: the default one
  double busy_neighbours = 0;  // 0: the rest of the GPU is idle, 1: all of it is busy
  bool virtualised = false;    // a vGPU in a VM
};

enum class Bound { host, compute, bandwidth, copy };
enum class Fit { fits, uncertain, does_not_fit };

// median with the limits of its stated 90 % interval.
struct Estimate {
  double median = 0, low = 0, high = 0;
};

struct Prediction {
  Estimate step_ms;     // one batch
  Estimate throughput;  // samples per second
  Estimate memory_mib;
  double capacity_mib = 0;
  Fit fit = Fit::fits;
  Bound bound = Bound::compute;    // what takes most of the step
  std::array<double, 4> share{};   // of the step, by Bound
  bool extrapolated = false;       // board, precision or mode beyond the data that the constants stand on
  std::vector<std::string> notes;  // what was assumed
};

// Log-scale factors that the user's own measured points give (1 = none), by MAP (calibration.h).
struct Calibration {
  double device = 1, bandwidth = 1, host = 1;
  double residual = 0;  // remaining log-scale standard deviation; 0: the model's own
};

// <= 20 us for ResNet-50. Errors: `invalid` for a batch < 1 or a precision that the board has no figure for; never a
// silent number. A workload that does not fit is an answer, not an error.
Result<Prediction> predict(const Constants& constants, const Workload& workload, const Settings& settings,
                           const Partition& partition, const Calibration& calibration = {});

}  // namespace partita::predict
