#include "predict/calibration.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "predict/interval.h"
#include "predict/least_squares.h"

namespace partita::predict {
namespace {

// Log-scale difference from which on points are said to contradict each other, or the model.
constexpr double kContradiction = 0.15;
constexpr std::size_t kMostNotes = 3;

// Log-scale deviations of the three factors around 1, before any point.
std::array<double, 3> factor_spreads(const Constants& constants) {
  return {constants[Key::device_factor_spread], constants[Key::bandwidth_factor_spread],
          constants[Key::host_factor_spread]};
}

Factors factors_of(const std::vector<double>& logs) {
  return {std::exp(logs[0]), std::exp(logs[1]), std::exp(logs[2])};
}

std::string place_name(const Point& point) {
  return fmt::format("{} at batch {}", partition_name(point.partition), point.batch);
}

Result<void> check(const std::vector<Point>& points) {
  if (points.empty()) return fail(ErrorCode::invalid, "a calibration needs at least one measured point, found none");
  if (points.size() > kMostPoints) {
    return fail(ErrorCode::invalid, fmt::format("a calibration takes at most {} measured points, found {}: choose the "
                                                "ones of this question",
                                                kMostPoints, points.size()));
  }
  for (const Point& point : points) {
    if (!(point.step_ms > 0) || !std::isfinite(point.step_ms)) {
      return fail(ErrorCode::invalid, fmt::format("measured point {}: expected a time above 0 ms, found {}",
                                                  place_name(point), point.step_ms));
    }
    if (point.batch < 1) {
      return fail(ErrorCode::invalid,
                  fmt::format("measured point {}: expected a batch of 1 or more", place_name(point)));
    }
    if (point.partition.board != points.front().partition.board) {
      return fail(ErrorCode::invalid, "measured points of different boards: calibrate each board by itself");
    }
  }
  return {};
}

// Pairs that no model can meet; of many, the first and how many more.
std::vector<std::string> contradictions(const Constants& constants, const std::vector<Point>& points) {
  std::vector<std::string> notes;
  std::vector<Result<Device>> devices;
  devices.reserve(points.size());
  for (const Point& point : points) devices.push_back(device_of(constants, point.partition));
  for (const Point& a : points) {
    for (const Point& b : points) {
      const auto& da = devices[static_cast<std::size_t>(&a - points.data())];
      const auto& db = devices[static_cast<std::size_t>(&b - points.data())];
      if (&a == &b || !da || !db) continue;
      bool same = a.batch == b.batch && da->multiprocessors == db->multiprocessors && da->bandwidth == db->bandwidth;
      if (same && &a < &b && std::abs(std::log(a.step_ms / b.step_ms)) > kContradiction) {
        notes.push_back(fmt::format("contradictory points: {} was measured as {:.4g} ms and as {:.4g} ms",
                                    place_name(a), a.step_ms, b.step_ms));
      }
      bool larger = da->multiprocessors >= db->multiprocessors && da->bandwidth >= db->bandwidth && a.batch <= b.batch;
      if (!same && larger && std::log(a.step_ms / b.step_ms) > kContradiction) {
        notes.push_back(fmt::format("contradictory points: {} ({:.4g} ms) is slower than {} ({:.4g} ms)", place_name(a),
                                    a.step_ms, place_name(b), b.step_ms));
      }
    }
  }
  if (notes.size() > kMostNotes + 1) {
    const std::size_t more = notes.size() - kMostNotes;
    notes.resize(kMostNotes);
    notes.push_back(fmt::format("{} more pairs of points contradict each other", more));
  }
  return notes;
}

std::array<double, 3> slopes(const Predictor& predictor, const Point& point, const Factors& at) {
  constexpr double kStep = 1e-3;
  std::array<double, 3> out{};
  auto log_time = [&](const Factors& f) {
    auto time = predictor.time(point.partition, point.batch, f);
    return time ? std::log(time->total_s) : 0.0;
  };
  double base = log_time(at);
  for (std::size_t i = 0; i < 3; ++i) {
    Factors moved = at;
    (i == 0 ? moved.device : i == 1 ? moved.bandwidth : moved.host) *= std::exp(kStep);
    out[i] = (log_time(moved) - base) / kStep;
  }
  return out;
}

double variance_along(const std::array<double, 9>& covariance, const std::array<double, 3>& a,
                      const std::array<double, 3>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) sum += a[i] * covariance[i * 3 + j] * b[j];
  }
  return sum;
}

// The factors by MAP where each point is known to within `noise` (log scale).
Calibration most_probable(const Predictor& predictor, const std::vector<Point>& points, double noise) {
  LeastSquares problem;
  problem.residuals = [&](const std::vector<double>& logs) {
    std::vector<double> out;
    for (const Point& point : points) {
      auto time = predictor.time(point.partition, point.batch, factors_of(logs));
      out.push_back(time ? std::log(time->total_s * 1e3 / point.step_ms) / noise : 0);
    }
    return out;
  };
  std::vector<Parameter> parameters;
  for (double sigma : factor_spreads(predictor.constants())) parameters.push_back({0, -3, 3, sigma});
  Solution solution = solve(problem, parameters);
  Calibration out;
  Factors found = factors_of(solution.parameters);
  out.device = found.device;
  out.bandwidth = found.bandwidth;
  out.host = found.host;
  std::ranges::copy(solution.covariance, out.covariance.begin());
  double worst = 0;
  for (double r : solution.residuals) worst = std::max(worst, std::abs(r) * noise);
  out.residual = std::hypot(predictor.constants()[Key::calibrated_spread], worst);
  return out;
}

// The largest disagreement of the points with the calibrated model.
double noise_of(const Constants& constants, const Calibration& c) {
  double model = constants[Key::calibrated_spread];
  return std::sqrt(std::max(0.0, c.residual * c.residual - model * model));
}

}  // namespace

Result<Calibration> calibrate(const Predictor& predictor, const std::vector<Point>& points) {
  TRY_VOID(check(points));
  for (const Point& point : points) {
    if (auto time = predictor.time(point.partition, point.batch); !time) return std::unexpected(time.error());
  }
  const Constants& constants = predictor.constants();
  Calibration out = most_probable(predictor, points, constants[Key::point_spread]);
  out.notes = contradictions(constants, points);
  double worst = noise_of(constants, out);
  if (out.notes.empty() && worst > kContradiction) {
    out.notes.push_back(
        fmt::format("the measured points do not agree with any setting of the model: {:.0f} % remain; "
                    "check precision, batch and what else the step contains",
                    100 * (std::exp(worst) - 1)));
  }
  if (out.notes.empty()) return out;
  // Points that disagree by so much are worth no more than that.
  std::vector<std::string> notes = std::move(out.notes);
  out = most_probable(predictor, points, std::max(constants[Key::point_spread], worst));
  out.notes = std::move(notes);
  return out;
}

std::optional<NextPoint> next_point(const Predictor& predictor, const std::vector<Point>& places,
                                    const Calibration& calibration) {
  if (places.empty()) return std::nullopt;
  const Constants& constants = predictor.constants();
  std::array<double, 9> covariance = calibration.covariance;
  if (calibration.residual <= 0) {
    covariance.fill(0);
    const auto spreads = factor_spreads(constants);
    for (std::size_t i = 0; i < 3; ++i) covariance[i * 4] = spreads[i] * spreads[i];
  }
  // One more point will agree no better than those before it.
  double noise = std::max(constants[Key::point_spread], noise_of(constants, calibration));
  double residual = std::max(constants[Key::calibrated_spread], calibration.residual);
  Factors at{calibration.device, calibration.bandwidth, calibration.host};
  std::vector<std::array<double, 3>> slope;
  for (const Point& place : places) slope.push_back(slopes(predictor, place, at));
  NextPoint best;
  for (std::size_t p = 0; p < places.size(); ++p) {
    double known = variance_along(covariance, slope[p], slope[p]) + noise * noise;
    double before = 0, after = 0;
    for (const auto& other : slope) {
      double variance = variance_along(covariance, other, other);
      double shared = variance_along(covariance, other, slope[p]);
      before += std::sqrt(variance + residual * residual);
      after += std::sqrt(std::max(0.0, variance - shared * shared / known) + residual * residual);
    }
    double n = static_cast<double>(places.size());
    if (p == 0 || after / n < best.spread_after) best = {p, before / n, after / n};
  }
  return best;
}

namespace {

std::string pair_text(const TwoPoints& points, std::string_view relation) {
  return fmt::format("contradictory points: {} ({:.4g} ms) is {} {} ({:.4g} ms); measure both again",
                     place_name(points.largest), points.largest.step_ms, relation, place_name(points.smallest),
                     points.smallest.step_ms);
}

Result<void> check(const TwoPoints& points, const Device& large, const Device& small) {
  // Nothing measured gains more than the larger of both ratios; half as much again is no noise either.
  constexpr double kMostGain = 1.5;
  if (large.multiprocessors <= small.multiprocessors) {
    return fail(ErrorCode::invalid, "two points without an architecture: expected a larger and a smaller partition");
  }
  const double gain = points.smallest.step_ms / points.largest.step_ms;
  if (-std::log(gain) > kContradiction) return fail(ErrorCode::invalid, pair_text(points, "slower than"));
  const double size = std::max(large.multiprocessors / small.multiprocessors, large.bandwidth / small.bandwidth);
  if (gain > kMostGain * size) {
    return fail(ErrorCode::invalid,
                pair_text(points, fmt::format("{:.0f} times as fast, at {:.2g} times the size, as", gain, size)));
  }
  return {};
}

}  // namespace

Result<Estimate> from_two_points(const Constants& constants, const TwoPoints& points, const Partition& partition) {
  TRY_VOID(check({points.largest, points.smallest}));
  if (points.largest.batch != points.smallest.batch) {
    return fail(ErrorCode::invalid,
                fmt::format("two points without an architecture: expected the same batch, found {} and {}",
                            points.largest.batch, points.smallest.batch));
  }
  Device large = TRY(device_of(constants, points.largest.partition));
  Device small = TRY(device_of(constants, points.smallest.partition));
  Device asked = TRY(device_of(constants, partition));
  TRY_VOID(check(points, large, small));
  double compute = constants[Key::two_points_compute];
  auto weight = [&](const Device& d) {
    return compute * large.multiprocessors / d.multiprocessors + (1 - compute) * large.bandwidth / d.bandwidth;
  };
  const double all = weight(large), least = weight(small), here = weight(asked);
  const double scaled = points.smallest.step_ms * here / least, spread = constants[Key::two_points_spread];
  if (here >= all && here <= least) return interval(std::max(points.largest.step_ms, scaled), spread);
  // Beyond the points: whether what bounds the step there bounds it here too is not known.
  const double near = here > least ? points.smallest.step_ms : points.largest.step_ms;
  const double far = here > least ? scaled : near * here / all;
  return Estimate{std::sqrt(near * far), interval(std::min(near, far), spread).low,
                  interval(std::max(near, far), spread).high};
}

}  // namespace partita::predict
