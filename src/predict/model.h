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
#include "predict/constants.h"
#include "predict/step.h"
#include "predict/workload.h"

namespace partita::predict {

// Where it runs.
struct Partition {
  const catalog::Board* board = nullptr;
  std::optional<int> profile;  // index in Board::profiles; nullopt: the whole GPU without MIG
  std::optional<int> compute;  // index in Profile::compute; nullopt: the default one
  double busy_neighbours = 0;  // 0: the rest of the GPU is idle, 1: all of it is busy
  bool virtualised = false;    // a vGPU in a VM
  const Host* host = nullptr;  // machine and software that launch the work; nullptr: the reference (constants.h)
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
  double residual = 0;                 // remaining log-scale standard deviation; 0: the model's own
  std::array<double, 9> covariance{};  // of the three logarithms, row by row
  std::vector<std::string> notes;      // contradictory points, and what else must be said
};

// <= 20 us for ResNet-50. Errors: `invalid` for a batch < 1 or a precision that the board has no figure for; never a
// silent number. A workload that does not fit is an answer, not an error.
Result<Prediction> predict(const Constants& constants, const Workload& workload, const Settings& settings,
                           const Partition& partition, const Calibration& calibration = {});

// The same with the work that does not depend on the partition's size or the batch done once: for tables.
class Predictor {
 public:
  // All partitions that are asked must be of this board. Keeps references to all four.
  static Result<Predictor> make(const Constants& constants, const Workload& workload, const Settings& settings,
                                const catalog::Board& board, const Host* host = nullptr);
  Result<Prediction> predict(const Partition& partition, int batch, const Calibration& calibration = {}) const;
  // The time alone, without intervals, memory and notes: what fits and calibrations call in their loops.
  Result<StepTime> time(const Partition& partition, double batch, const Factors& factors = {}) const;
  const StepPlan& plan() const { return plan_; }
  const Constants& constants() const { return *constants_; }

 private:
  Predictor(const Constants& constants, const Workload& workload, const Settings& settings)
      : constants_(&constants), workload_(&workload), settings_(settings) {}
  const Constants* constants_;
  const Workload* workload_;
  Settings settings_;
  const Host* host_ = nullptr;
  StepPlan plan_;
};

// What the partition has. `invalid` names a board or profile without multiprocessor count or bandwidth.
Result<Device> device_of(const Constants& constants, const Partition& partition);
// "3g.20gb", "1c.3g.20gb", or "whole GPU".
std::string partition_name(const Partition& partition);

}  // namespace partita::predict
