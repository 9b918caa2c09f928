#include "predict/interval.h"

#include <algorithm>
#include <cmath>

namespace partita::predict {

Estimate interval(double median, double sigma) {
  double width = std::exp(1.645 * sigma);
  return {median, median / width, median * width};
}

double spread(const Constants& constants, const std::array<double, 4>& share, bool seen) {
  const std::array<double, 4>& by_bound = seen ? constants.spread.fitted : constants.spread.elsewhere;
  double variance = 0;
  for (std::size_t i = 0; i < share.size(); ++i) variance += share[i] * by_bound[i] * by_bound[i];
  return std::sqrt(variance);
}

double calibrated_spread(const StepPlan& plan, const Device& device, double batch, const Calibration& calibration) {
  constexpr double kStep = 1e-3;
  Factors at{calibration.device, calibration.bandwidth, calibration.host};
  double base = std::log(evaluate(plan, device, batch, at).total_s);
  std::array<double, 3> slope{};
  for (std::size_t i = 0; i < 3; ++i) {
    Factors moved = at;
    (i == 0 ? moved.device : i == 1 ? moved.bandwidth : moved.host) *= std::exp(kStep);
    slope[i] = (std::log(evaluate(plan, device, batch, moved).total_s) - base) / kStep;
  }
  double variance = calibration.residual * calibration.residual;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) variance += slope[i] * slope[j] * calibration.covariance[i * 3 + j];
  }
  return std::sqrt(std::max(variance, 0.0));
}

}  // namespace partita::predict
