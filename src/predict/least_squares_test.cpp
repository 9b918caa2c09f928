#include "predict/least_squares.h"

#include <cmath>

#include <gtest/gtest.h>

namespace partita::predict {
namespace {

TEST(LeastSquares, FindsTheConstantsOfACurve) {
  LeastSquares problem;
  problem.residuals = [](const std::vector<double>& p) {
    std::vector<double> out;
    for (int i = 0; i < 20; ++i) {
      double x = 0.1 * i;
      out.push_back((p[0] * std::exp(-p[1] * x) - 3 * std::exp(-1.7 * x)) / 0.01);
    }
    return out;
  };
  Solution solution = solve(problem, {{1, 0, 10, {}}, {1, 0, 10, {}}});
  EXPECT_NEAR(solution.parameters[0], 3, 1e-4);
  EXPECT_NEAR(solution.parameters[1], 1.7, 1e-4);
  EXPECT_GT(solution.covariance[0], 0);
}

TEST(LeastSquares, HuberWeightsKeepAnOutlierFromPulling) {
  LeastSquares problem;
  problem.residuals = [](const std::vector<double>& p) {
    std::vector<double> out(10, p[0] - 2);
    out.push_back(p[0] - 200);
    return out;
  };
  double squares = solve(problem, {{0, -1e3, 1e3, {}}}).parameters[0];
  problem.huber = 1;
  double robust = solve(problem, {{0, -1e3, 1e3, {}}}).parameters[0];
  EXPECT_NEAR(squares, 20, 0.1);
  EXPECT_LT(robust, 2.2);
}

TEST(LeastSquares, APriorHoldsWhatTheDataDoNotTellAndBoundsAreKept) {
  LeastSquares problem;
  problem.residuals = [](const std::vector<double>& p) { return std::vector<double>{(p[0] + p[1] - 4) / 0.1}; };
  Solution solution = solve(problem, {{1, -10, 10, 0.5}, {1, -10, 10, 0.5}});
  EXPECT_NEAR(solution.parameters[0], solution.parameters[1], 1e-6);
  EXPECT_NEAR(solution.parameters[0] + solution.parameters[1], 4, 0.1);
  Solution bounded = solve(problem, {{1, 0, 1.5, {}}, {1, 0, 1.5, {}}});
  EXPECT_LE(bounded.parameters[0], 1.5);
  EXPECT_LE(bounded.parameters[1], 1.5);
}

}  // namespace
}  // namespace partita::predict
