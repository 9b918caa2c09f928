// Scenarios that the simulator's tests share, and the comparison with closed forms.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "study/simulator.h"

namespace partita::study::cases {

inline Tenant tenant(const std::string& name, double batch_s, double variation = 0) {
  Tenant t;
  t.name = name;
  t.service.batch_s = {batch_s};
  t.service.variation = variation;
  return t;
}

inline Tenant poisson(const std::string& name, double rate, double batch_s, double variation = 0) {
  Tenant t = tenant(name, batch_s, variation);
  t.arrivals.kind = Arrivals::Kind::poisson;
  t.arrivals.rate_per_s = rate;
  return t;
}

inline Tenant closed(const std::string& name, int clients, double think_s, double batch_s, double variation = 0) {
  Tenant t = tenant(name, batch_s, variation);
  t.arrivals.clients = clients;
  t.arrivals.think_s = think_s;
  return t;
}

inline Server server(Sharing sharing, const std::string& name = "gpu") {
  Server s;
  s.name = name;
  s.sharing = sharing;
  return s;
}

inline SimulationResult run(const Scenario& scenario) {
  auto result = simulate(scenario);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result ? std::move(*result) : SimulationResult{};
}

// Mean over `seeds` runs and the half width of its 99.9 % interval (Student's t with 9 degrees of freedom for 10 runs).
struct Sample {
  double mean = 0, half_width = 0;
};
inline Sample sample(Scenario scenario, const std::function<double(const SimulationResult&)>& figure) {
  constexpr int kRuns = 10;
  constexpr double kStudent = 4.781;
  double sum = 0, squares = 0;
  for (int i = 0; i < kRuns; ++i) {
    scenario.seed = 1000 + static_cast<std::uint64_t>(i);
    const double value = figure(run(scenario));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kRuns;
  const double variance = std::max(0.0, (squares - kRuns * mean * mean) / (kRuns - 1));
  return {mean, kStudent * std::sqrt(variance / kRuns)};
}

// The closed form lies in the interval, and the interval is narrow enough to say something.
inline void agrees(const char* what, const Sample& s, double expected, double widest = 0.03) {
  std::printf("[   FIGURE ] %-58s simulated %.6g +- %.2g, closed form %.6g\n", what, s.mean, s.half_width, expected);
  EXPECT_NEAR(s.mean, expected, s.half_width + 1e-9 * expected) << what << " (seeds 1000 to 1009)";
  EXPECT_LE(s.half_width, widest * expected) << what << ": too few events to tell";
}

inline double mean_latency(const SimulationResult& r) { return r.tenants[0].mean_latency_s; }

}  // namespace partita::study::cases
