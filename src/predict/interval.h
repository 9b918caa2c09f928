// The 90 % interval of a prediction: log-normal, its width by what bounds the step and by how far the case lies from
// the measurements that the constants stand on.
#pragma once

#include "predict/model.h"

namespace partita::predict {

// median with median / exp(1.645 sigma) and median * exp(1.645 sigma).
Estimate interval(double median, double sigma);

// Log-scale standard deviation. `seen`: network and host were part of the fit.
double spread(const Constants& constants, const std::array<double, 4>& share, bool seen);

// After calibration: what the own points left open (their covariance through the model's slopes) and their residual.
double calibrated_spread(const StepPlan& plan, const Device& device, double batch, const Calibration& calibration);

}  // namespace partita::predict
