#include "predict/fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "predict/fit_calibration.h"
#include "predict/least_squares.h"
#include "predict/memory.h"
#include "predict/statistics.h"

namespace partita::predict {
namespace {

const std::set<Key>& memory_keys() {
  static const std::set<Key> keys{Key::context_mib,    Key::context_mib_per_sm,
                                  Key::inference_live, Key::convolution_context_mib,
                                  Key::training_saved, Key::training_parameter_copies};
  return keys;
}

// What a later stage fits (fit_calibration.h).
const std::set<Key>& calibration_keys() {
  static const std::set<Key> keys{Key::calibrated_spread, Key::two_points_compute, Key::two_points_spread};
  return keys;
}

// Residuals are in units of this log-scale deviation; Huber weights begin at 1.5 of them.
constexpr double kUnit = 0.05;
constexpr double kHuber = 1.5;

// Where a fit's parameters stand in the constants: fitted keys, then each host's own.
class Layout {
 public:
  Layout(const Constants& start, bool memory) : memory_(memory) {
    for (const KeyInfo& info : key_table()) {
      if (!info.fitted || calibration_keys().contains(info.key)) continue;
      if (memory_keys().contains(info.key) != memory) continue;
      keys_.push_back(info.key);
      parameters_.push_back(
          {std::log(std::max(start[info.key], 1e-3)), std::log(std::max(info.low, 1e-3)), std::log(info.high), {}});
    }
    for (std::size_t h = 0; h < start.hosts.size(); ++h) {
      const Host& host = start.hosts[h];
      if (memory && h > 0) {
        parameters_.push_back({std::log(std::max(host.context_mib, 20.0)), std::log(1.0), std::log(4000.0), {}});
      }
      if (memory) continue;
      if (h > 0) parameters_.push_back({std::log(host.launch_factor), std::log(0.2), std::log(5.0), {}});
      parameters_.push_back({std::log(std::max(host.weight_passes, 4.0)), std::log(0.1), std::log(40.0), {}});
    }
  }

  const std::vector<Parameter>& parameters() const { return parameters_; }

  Constants at(const Constants& base, const std::vector<double>& p) const {
    Constants out = base;
    std::size_t next = 0;
    for (Key key : keys_) out[key] = std::exp(p[next++]);
    for (std::size_t h = 0; h < out.hosts.size(); ++h) {
      if (memory_ && h > 0) out.hosts[h].context_mib = std::exp(p[next++]);
      if (memory_) continue;
      if (h > 0) out.hosts[h].launch_factor = std::exp(p[next++]);
      out.hosts[h].weight_passes = std::exp(p[next++]);
    }
    return out;
  }

  // Standard errors from the covariance of the logarithms, `scale` the residuals' deviation.
  void set_errors(Constants& c, const Solution& solution, double scale) const {
    std::size_t n = parameters_.size(), next = 0;
    auto error = [&](double value) {
      double variance = solution.covariance[next * n + next];
      ++next;
      return value * scale * std::sqrt(std::max(variance, 0.0));
    };
    for (Key key : keys_) c.standard_error[static_cast<std::size_t>(key)] = error(c[key]);
    for (std::size_t h = 0; h < c.hosts.size(); ++h) {
      if (memory_ && h > 0) c.hosts[h].error[2] = error(c.hosts[h].context_mib);
      if (memory_) continue;
      if (h > 0) c.hosts[h].error[0] = error(c.hosts[h].launch_factor);
      c.hosts[h].error[1] = error(c.hosts[h].weight_passes);
    }
  }

 private:
  bool memory_;
  std::vector<Key> keys_;
  std::vector<Parameter> parameters_;
};

bool counts(const Case& c) { return c.workload && c.measured.left_out.empty() && c.measured.step_ms; }

std::vector<double> time_errors(const Constants& constants, const std::vector<Case>& cases) {
  std::vector<double> out(cases.size(), 10);
  auto times = step_times(constants, cases);
  if (!times) return out;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    out[i] = std::log((*times)[i].total_s * 1e3 / cases[i].measured.step_ms.value_or(1));
  }
  return out;
}

std::vector<double> memory_errors(const Constants& constants, const std::vector<Case>& cases) {
  std::vector<double> out;
  for (const Case& c : cases) {
    const Host* host = constants.host(c.measured.host);
    auto device = device_of(constants, c.partition);
    double mib = memory_mib(constants, host ? *host : Host{}, *c.workload, c.measured.settings,
                            c.measured.settings.batch, device ? device->multiprocessors : 1);
    out.push_back(std::log(mib / c.measured.memory_mib.value_or(1)));
  }
  return out;
}

std::vector<double> scaled(std::vector<double> errors) {
  for (double& e : errors) e /= kUnit;
  return errors;
}

// One network of convolutions tells their efficiency and the length of sum that halves it only together. An endless
// convolution is a matrix product on the same tensor cores, so its efficiency is held near that one's; the length is
// held, more loosely, near its start.
constexpr double kSameCores = 0.05;
constexpr double kNearStart = 0.3;

std::vector<double> time_residuals(const Constants& constants, const std::vector<Case>& cases) {
  std::vector<double> out = scaled(time_errors(constants, cases));
  out.push_back(std::log(constants[Key::convolution_efficiency] / constants[Key::tensor_matmul_efficiency]) /
                kSameCores);
  static const double start = prior_constants()[Key::convolution_half_k];
  out.push_back(std::log(constants[Key::convolution_half_k] / start) / kNearStart);
  return out;
}

// The deviation whose 90 % interval holds 90 % of the errors, by what takes most of the step.
std::array<double, 4> spread_by_bound(const Constants& constants, const std::vector<Case>& cases,
                                      const std::vector<double>& errors) {
  std::array<std::vector<double>, 4> by_bound;
  std::vector<double> all;
  auto predicted = predictions(constants, cases);
  for (std::size_t i = 0; predicted && i < cases.size(); ++i) {
    by_bound[static_cast<std::size_t>((*predicted)[i].bound)].push_back(std::abs(errors[i]));
    all.push_back(std::abs(errors[i]));
  }
  std::array<double, 4> out{};
  for (std::size_t b = 0; b < 4; ++b) {
    out[b] = std::max(0.01, quantile(by_bound[b].size() >= 20 ? by_bound[b] : all, 0.9) / 1.645);
  }
  return out;
}

void fit_spreads(const std::vector<Case>& cases, Constants& constants) {
  constants.spread.fitted = spread_by_bound(constants, cases, time_errors(constants, cases));
  for (std::size_t b = 0; b < 4; ++b) {
    constants.spread.elsewhere[b] = std::hypot(constants.spread.fitted[b], constants[Key::laboratory_spread]);
  }
}

void fit_memory(const std::vector<Case>& all, Constants& constants) {
  std::vector<Case> cases;
  std::ranges::copy_if(all, std::back_inserter(cases),
                       [](const Case& c) { return c.measured.memory_mib.has_value() && *c.measured.memory_mib > 0; });
  if (cases.size() < 20) return;
  Layout layout(constants, true);
  LeastSquares problem{
      [&](const std::vector<double>& p) { return scaled(memory_errors(layout.at(constants, p), cases)); }, kHuber, 60};
  Solution solution = solve(problem, layout.parameters());
  Constants start = constants;
  constants = layout.at(start, solution.parameters);
  std::vector<double> errors = memory_errors(constants, cases);
  for (double& e : errors) e = std::abs(e);
  layout.set_errors(constants, solution, quantile(errors, 0.68) / kUnit);
  constants.memory_spread = quantile(errors, 0.9) / 1.645;
}

}  // namespace

Result<Constants> fit_time(const std::vector<Case>& cases, const Constants& start, int max_iterations) {
  Layout layout(start, false);
  if (cases.size() < 2 * layout.parameters().size()) {
    return fail(ErrorCode::invalid,
                fmt::format("a fit of {} constants needs at least {} rows, found {}", layout.parameters().size(),
                            2 * layout.parameters().size(), cases.size()));
  }
  LeastSquares problem{[&](const std::vector<double>& p) { return time_residuals(layout.at(start, p), cases); }, kHuber,
                       max_iterations};
  Solution solution = solve(problem, layout.parameters());
  Constants out = layout.at(start, solution.parameters);
  std::vector<double> errors = time_errors(out, cases);
  for (double& e : errors) e = std::abs(e);
  layout.set_errors(out, solution, quantile(errors, 0.68) / kUnit);
  return out;
}

Result<FitReport> fit(Library& library, const DataSet& set) {
  Resolved resolved = resolve(library, set.rows);
  keep_predictable(prior_constants(), resolved);
  if (!resolved.unusable.empty()) {
    const Unusable& first = resolved.unusable.front();
    return std::unexpected(in_context(fmt::format("{}, line {}", set.name, first.line), first.error));
  }
  std::vector<Case> cases;
  std::ranges::copy_if(resolved.cases, std::back_inserter(cases), counts);
  FitReport report;
  report.rows = static_cast<int>(cases.size());
  report.left_out = static_cast<int>(
      std::ranges::count_if(set.rows, [](const Measurement& m) { return !m.left_out.empty() && m.step_ms; }));

  Constants start = prior_constants();
  for (const Case& c : cases) {
    if (!c.measured.host.empty() && !start.host(c.measured.host)) {
      start.hosts.push_back(
          {.name = c.measured.host, .launch_factor = 1, .weight_passes = 8, .context_mib = 0, .error = {}});
    }
    if (std::ranges::find(start.networks, c.workload->name) == start.networks.end()) {
      start.networks.push_back(c.workload->name);
    }
  }
  report.constants = TRY(fit_time(cases, start));
  fit_spreads(cases, report.constants);
  fit_memory(cases, report.constants);
  TRY_VOID(fit_calibration(cases, report.constants));
  report.constants.fitted_on = fmt::format("{}: {} rows used, {} left out", set.name, report.rows, report.left_out);
  std::vector<double> errors = time_errors(report.constants, cases);
  for (double& e : errors) e = std::abs(std::exp(-e) - 1);
  report.mean = mean(errors);
  report.median = quantile(errors, 0.5);
  report.p90 = quantile(errors, 0.9);
  return report;
}

}  // namespace partita::predict
