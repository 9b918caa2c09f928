#include "predict/fit_calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "predict/least_squares.h"
#include "predict/own_points.h"
#include "predict/statistics.h"

namespace partita::predict {
namespace {

constexpr std::size_t kFewest = 20;  // errors that a spread is taken from
using Rows = std::vector<std::size_t>;

// Rows with the same key, by key.
template <class KeyOf>
auto grouped(const std::vector<Case>& cases, KeyOf key_of) {
  std::map<decltype(key_of(cases.front())), Rows> out;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (alone(cases[i].measured)) out[key_of(cases[i])].push_back(i);
  }
  return out;
}

// The deviation whose 90 % interval holds 90 % of the errors, with its own standard error: that of the 90th percentile
// of n half-normal values, 0.88 / sqrt(n) of it.
void set_spread(Key key, const std::vector<double>& errors, Constants& constants) {
  if (errors.size() < kFewest) return;
  constants[key] = std::max(0.01, quantile(errors, 0.9) / 1.645);
  constants.standard_error[static_cast<std::size_t>(key)] =
      0.88 * constants[key] / std::sqrt(static_cast<double>(errors.size()));
}

// |log error| of each group's other rows after a calibration by three of its own.
Result<std::vector<double>> errors_after_three_points(const Constants& constants, const std::vector<Case>& cases,
                                                      const std::vector<Device>& devices) {
  std::vector<double> errors;
  for (const auto& [group, rows] : grouped(cases, [](const Case& c) { return c.group; })) {
    const Rows chosen = own_points(cases, devices, rows, 3);
    if (chosen.size() >= rows.size()) continue;
    const Case& first = cases[rows.front()];
    const Predictor predictor = TRY(Predictor::make(constants, *first.workload, first.measured.settings,
                                                    *first.partition.board, constants.host(first.measured.host)));
    std::vector<Point> points;
    for (std::size_t i : chosen) points.push_back(point_of(cases[i]));
    const Calibration found = TRY(calibrate(predictor, points));
    for (std::size_t i : rows) {
      if (std::ranges::find(chosen, i) != chosen.end()) continue;
      const Point truth = point_of(cases[i]);
      const StepTime time =
          TRY(predictor.time(truth.partition, truth.batch, {found.device, found.bandwidth, found.host}));
      errors.push_back(std::abs(std::log(time.total_s * 1e3 / truth.step_ms)));
    }
  }
  return errors;
}

// A partition between two measured ones.
struct Between {
  std::string workload;
  TwoPoints known;
  Point truth;
};

std::vector<Between> between_two(const std::vector<Case>& cases, const std::vector<Device>& devices) {
  std::vector<Between> out;
  auto key = [](const Case& c) { return std::pair{c.group, c.measured.settings.batch}; };
  for (const auto& [place, rows] : grouped(cases, key)) {
    const Sizes sizes = sizes_of(devices, rows);
    const TwoPoints known{point_of(cases[sizes.largest]), point_of(cases[sizes.smallest])};
    for (std::size_t i : sizes.between) out.push_back({cases[i].workload->name, known, point_of(cases[i])});
  }
  return out;
}

std::vector<double> two_point_errors(Constants constants, double compute, const std::vector<Between>& all) {
  constants[Key::two_points_compute] = compute;
  std::vector<double> errors;
  for (const Between& one : all) {
    auto found = from_two_points(constants, one.known, one.truth.partition);
    errors.push_back(found ? std::log(found->median / one.truth.step_ms) : 0);
  }
  return errors;
}

Solution solve_two_points(const Constants& constants, const std::vector<Between>& all) {
  const KeyInfo& info = key_table()[static_cast<std::size_t>(Key::two_points_compute)];
  const LeastSquares problem{
      [&](const std::vector<double>& share) { return two_point_errors(constants, share[0], all); }, 0, 60};
  return solve(problem, {{info.start, info.low, info.high, {}}});
}

// Who has two points has a network that nobody knows: the spread is that of networks which the weight was not fitted
// on.
std::vector<double> errors_of_unknown(const Constants& constants, const std::vector<Between>& all) {
  std::set<std::string> networks;
  for (const Between& one : all) networks.insert(one.workload);
  std::vector<double> errors;
  for (const std::string& network : networks) {
    std::vector<Between> known, unknown;
    for (const Between& one : all) (one.workload == network ? unknown : known).push_back(one);
    if (known.empty()) continue;
    const double compute = solve_two_points(constants, known).parameters[0];
    for (double e : two_point_errors(constants, compute, unknown)) errors.push_back(std::abs(e));
  }
  return errors;
}

void fit_two_points(const std::vector<Between>& all, Constants& constants) {
  if (all.size() < kFewest) return;
  set_spread(Key::two_points_spread, errors_of_unknown(constants, all), constants);
  const Solution solution = solve_two_points(constants, all);
  std::vector<double> errors = solution.residuals;
  for (double& e : errors) e = std::abs(e);
  constants[Key::two_points_compute] = solution.parameters[0];
  constants.standard_error[static_cast<std::size_t>(Key::two_points_compute)] =
      std::sqrt(std::max(0.0, solution.covariance[0])) * quantile(errors, 0.68);
}

}  // namespace

Result<void> fit_calibration(const std::vector<Case>& cases, Constants& constants) {
  std::vector<Device> devices;
  for (const Case& c : cases) devices.push_back(TRY(device_of(constants, c.partition)));
  set_spread(Key::calibrated_spread, TRY(errors_after_three_points(constants, cases, devices)), constants);
  fit_two_points(between_two(cases, devices), constants);
  return {};
}

}  // namespace partita::predict
