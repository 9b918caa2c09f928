#include "predict/least_squares.h"

#include <algorithm>
#include <cmath>

namespace partita::predict {
namespace {

double weight_of(double residual, double huber) {
  double size = std::abs(residual);
  return huber > 0 && size > huber ? huber / size : 1;
}

double cost_of(const std::vector<double>& residuals, double huber) {
  double sum = 0;
  for (double r : residuals) {
    double size = std::abs(r);
    sum += huber > 0 && size > huber ? huber * (size - huber / 2) : r * r / 2;
  }
  return sum;
}

// Inverts a symmetric positive matrix in place by Gauss-Jordan with diagonal pivots; false when it is singular.
bool invert(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k) {
    double pivot = matrix[k * n + k];
    if (!(std::abs(pivot) > 1e-300)) return false;
    matrix[k * n + k] = 1;
    for (std::size_t j = 0; j < n; ++j) matrix[k * n + j] /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      double factor = matrix[i * n + k];
      matrix[i * n + k] = 0;
      for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return true;
}

class Solver {
 public:
  Solver(const LeastSquares& problem, const std::vector<Parameter>& parameters)
      : problem_(problem), parameters_(parameters), n_(parameters.size()) {}

  Solution run() {
    Solution at;
    for (const Parameter& p : parameters_) at.parameters.push_back(std::clamp(p.start, p.low, p.high));
    at.residuals = problem_.residuals(at.parameters);
    at.cost = total(at.parameters, at.residuals);
    double damping = 1e-3;
    for (; at.iterations < problem_.max_iterations; ++at.iterations) {
      linearise(at);
      bool better = false;
      double before = at.cost;
      for (int tries = 0; tries < 8 && !better; ++tries) {
        better = step(at, damping);
        damping = better ? std::max(damping / 5, 1e-9) : damping * 4;
      }
      if (!better || before - at.cost < 1e-9 * before) break;
    }
    linearise(at);
    at.covariance = normal_;
    for (std::size_t i = 0; i < n_; ++i) at.covariance[i * n_ + i] += 1e-9;
    if (!invert(at.covariance, n_)) at.covariance.assign(n_ * n_, 0);
    return at;
  }

 private:
  double total(const std::vector<double>& p, const std::vector<double>& residuals) const {
    double sum = cost_of(residuals, problem_.huber);
    for (std::size_t i = 0; i < n_; ++i) {
      if (auto sigma = parameters_[i].prior_sigma) {
        double off = (p[i] - parameters_[i].start) / *sigma;
        sum += off * off / 2;
      }
    }
    return sum;
  }

  // Normal equations J'WJ and J'Wr at a point, the priors among them.
  void linearise(const Solution& at) {
    constexpr double kStep = 1e-4;
    std::size_t rows = at.residuals.size();
    std::vector<std::vector<double>> slopes(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      std::vector<double> moved = at.parameters;
      double step = moved[i] + kStep > parameters_[i].high ? -kStep : kStep;
      moved[i] += step;
      slopes[i] = problem_.residuals(moved);
      for (std::size_t r = 0; r < rows; ++r) slopes[i][r] = (slopes[i][r] - at.residuals[r]) / step;
    }
    normal_.assign(n_ * n_, 0);
    gradient_.assign(n_, 0);
    for (std::size_t r = 0; r < rows; ++r) {
      double w = weight_of(at.residuals[r], problem_.huber);
      for (std::size_t i = 0; i < n_; ++i) {
        gradient_[i] += w * slopes[i][r] * at.residuals[r];
        for (std::size_t j = 0; j <= i; ++j) normal_[i * n_ + j] += w * slopes[i][r] * slopes[j][r];
      }
    }
    for (std::size_t i = 0; i < n_; ++i) {
      if (auto sigma = parameters_[i].prior_sigma) {
        normal_[i * n_ + i] += 1 / (*sigma * *sigma);
        gradient_[i] += (at.parameters[i] - parameters_[i].start) / (*sigma * *sigma);
      }
      for (std::size_t j = 0; j < i; ++j) normal_[j * n_ + i] = normal_[i * n_ + j];
    }
  }

  bool step(Solution& at, double damping) {
    std::vector<double> damped = normal_;
    for (std::size_t i = 0; i < n_; ++i) damped[i * n_ + i] += damping * (normal_[i * n_ + i] + 1e-9);
    if (!invert(damped, n_)) return false;
    std::vector<double> moved = at.parameters;
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < n_; ++j) moved[i] -= damped[i * n_ + j] * gradient_[j];
      moved[i] = std::clamp(moved[i], parameters_[i].low, parameters_[i].high);
    }
    std::vector<double> residuals = problem_.residuals(moved);
    double cost = total(moved, residuals);
    if (!(cost < at.cost)) return false;
    at.parameters = std::move(moved);
    at.residuals = std::move(residuals);
    at.cost = cost;
    return true;
  }

  const LeastSquares& problem_;
  const std::vector<Parameter>& parameters_;
  std::size_t n_;
  std::vector<double> normal_, gradient_;
};

}  // namespace

Solution solve(const LeastSquares& problem, const std::vector<Parameter>& parameters) {
  return Solver(problem, parameters).run();
}

}  // namespace partita::predict
