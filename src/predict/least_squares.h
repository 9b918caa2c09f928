// Non-linear least squares for few parameters: Levenberg-Marquardt with numeric slopes, Huber weights and Gaussian
// priors. Parameters are the caller's (logarithms of positive constants).
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace partita::predict {

struct Parameter {
  double start = 0, low = 0, high = 0;
  std::optional<double> prior_sigma;  // Gaussian prior around start
};

struct LeastSquares {
  // Residuals in units of their standard deviation, always as many.
  std::function<std::vector<double>(const std::vector<double>& parameters)> residuals;
  double huber = 0;  // residuals beyond this many deviations count linearly; 0: plain squares
  int max_iterations = 60;
};

struct Solution {
  std::vector<double> parameters;
  std::vector<double> covariance;  // row by row; of the parameters for residuals of deviation 1
  std::vector<double> residuals;   // at the solution
  double cost = 0;
  int iterations = 0;
};

Solution solve(const LeastSquares& problem, const std::vector<Parameter>& parameters);

}  // namespace partita::predict
