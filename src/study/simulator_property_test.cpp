// Laws that hold for every scenario, over random ones.
#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <numeric>

#include "study/random.h"
#include "study/simulator_cases.h"

namespace partita::study {
namespace {

using namespace cases;

// Anything: 1 to 3 servers of any kind, 1 to 6 tenants with all kinds of arrivals, loads from light to too heavy.
Scenario random_scenario(std::uint64_t seed) {
  Random random(seed);
  const auto upto = [&](int n) { return static_cast<int>(random.bits() % static_cast<std::uint64_t>(n)); };
  const auto between = [&](double low, double high) { return low + (high - low) * random.uniform(); };
  Scenario s;
  s.seed = seed;
  s.duration_s = 200;
  s.warmup_s = between(0, 20);
  const int servers = 1 + upto(3), tenants = 1 + upto(6);
  for (int i = 0; i < servers; ++i) {
    Server v = server(static_cast<Sharing>(upto(6)), "s" + std::to_string(i));
    v.quantum_s = between(0.0005, 0.01);
    v.switch_s = upto(2) * between(0, 0.001);
    v.contention = upto(2) * between(0, 0.1);
    v.neighbour_loss = upto(2) * between(0, 0.2);
    v.saturation = upto(2) == 0 ? 2 : between(1, 5);
    v.gpu = upto(2);
    s.servers.push_back(v);
  }
  for (int i = 0; i < tenants; ++i) {
    Tenant t = tenant("t" + std::to_string(i), between(0.002, 0.02), upto(3) * 0.5);
    t.server = upto(servers);
    const double rate = between(0.05, 0.4) / t.service.batch_s[0];
    const int max_size = 1 + upto(3) * upto(4);
    for (int n = 2; n <= max_size; ++n) t.service.batch_s.push_back(t.service.batch_s[0] * (0.5 + 0.5 * n));
    t.batching = {max_size, upto(2) * between(0, 0.02)};
    for (const double seconds : t.service.batch_s) t.service.gpu_s.push_back(seconds * between(0.05, 1));
    if (upto(2) == 0) t.service.gpu_s.clear();
    t.service.demand = between(0.2, 1);
    t.arrivals.kind = static_cast<Arrivals::Kind>(upto(4));
    t.arrivals.clients = 1 + upto(10);
    t.arrivals.think_s = upto(2) * between(0.01, 0.1);
    t.arrivals.rate_per_s = rate;
    t.arrivals.on_s = between(0.1, 1);
    t.arrivals.off_s = between(0.1, 1);
    for (double at = 0; t.arrivals.kind == Arrivals::Kind::trace && at < s.duration_s;)
      t.arrivals.times_s.push_back(at += random.exponential(1 / rate));
    t.slo_s = between(0.005, 0.1);
    if (s.servers[static_cast<std::size_t>(t.server)].sharing == Sharing::mps) t.streams = 1 + upto(3);
    t.weight = between(0.3, 1);
    s.tenants.push_back(t);
  }
  if (upto(3) == 0) s.reconfigurations.push_back({.at_s = between(0, 150), .server = upto(servers), .down_s = 0.5});
  return s;
}

std::string describe(const Scenario& s, std::size_t t) {
  return "seed " + std::to_string(s.seed) + ", tenant " + std::to_string(t) + ", sharing " +
         std::to_string(static_cast<int>(s.servers[static_cast<std::size_t>(s.tenants[t].server)].sharing));
}

TEST(SimulatorProperty, LittleAndConservation) {
  std::uint64_t events = 0;
  int judged = 0;
  EXPECT_TRUE(rc::check("laws of every scenario", [&](std::uint64_t seed) {
    const Scenario s = random_scenario(seed);
    const auto result = simulate(s);
    if (!result) RC_FAIL(result.error().message);
    events += result->events;
    const double window = s.duration_s - s.warmup_s;
    std::vector<double> used(s.servers.size(), 0);
    for (std::size_t t = 0; t < s.tenants.size(); ++t) {
      const auto& r = result->tenants[t];
      const auto& spec = s.tenants[t];
      RC_ASSERT(r.utilization >= 0 && r.utilization <= 1 + 1e-9);
      used[static_cast<std::size_t>(spec.server)] += r.utilization;
      RC_ASSERT(std::abs(r.throughput_per_s * window - static_cast<double>(r.completed)) < 1e-6);
      if (r.overloaded) {
        const bool line = s.servers[static_cast<std::size_t>(spec.server)].sharing == Sharing::exclusive;
        RC_ASSERT(spec.arrivals.kind != Arrivals::Kind::closed || line);
        RC_ASSERT(std::isinf(r.mean_latency_s) && !r.notes.empty());
        continue;
      }
      if (r.completed < 50) continue;
      ++judged;
      // Little: number = rate * time, but for the requests that are in the system at both ends of the window.
      const double ends = (20 + 10 * r.mean_in_system) * r.max_s / window;
      if (std::abs(r.mean_in_system - r.throughput_per_s * r.mean_latency_s) > ends) RC_FAIL(describe(s, t));
      RC_ASSERT(r.mean_queue <= r.mean_in_system + 1e-9);
      RC_ASSERT(r.p50_s <= r.p95_s && r.p95_s <= r.p99_s && r.p99_s <= r.max_s);
      RC_ASSERT(r.mean_latency_s <= r.max_s * (1 + 1e-9) && r.mean_batch >= 1 &&
                r.mean_batch <= spec.batching.max_size);
      RC_ASSERT(*r.slo_met >= 0 && *r.slo_met <= 1);
      if (spec.arrivals.kind == Arrivals::Kind::closed && spec.arrivals.think_s == 0)
        RC_ASSERT(std::abs(r.mean_in_system - spec.arrivals.clients) < 1e-6);
    }
    for (std::size_t v = 0; v < s.servers.size(); ++v) {
      RC_ASSERT(result->server_utilization[v] <= 1 + 1e-9);
      const bool switches =
          s.servers[v].sharing == Sharing::time_slice || s.servers[v].sharing == Sharing::vgpu_best_effort;
      if (s.servers[v].sharing == Sharing::mps) continue;
      RC_ASSERT(used[v] <= result->server_utilization[v] + 1e-9);
      if (!switches) RC_ASSERT(std::abs(used[v] - result->server_utilization[v]) < 1e-9);
    }
  }));
  std::printf("[   FIGURE ] %d tenants judged, %.3g million events\n", judged, static_cast<double>(events) * 1e-6);
  EXPECT_GT(judged, 100);
}

// Twice as slow a world: every time doubles exactly (powers of two do not round), every count stays.
TEST(SimulatorProperty, TimeHasNoScale) {
  EXPECT_TRUE(rc::check("a world at half speed is the same world", [](std::uint64_t seed) {
    const Scenario s = random_scenario(seed);
    Scenario slow = s;
    slow.duration_s *= 2, slow.warmup_s *= 2;
    for (auto& v : slow.servers) v.quantum_s *= 2, v.switch_s *= 2;
    for (auto& c : slow.reconfigurations) c.at_s *= 2, c.down_s *= 2;
    for (auto& t : slow.tenants) {
      for (auto& seconds : t.service.batch_s) seconds *= 2;
      for (auto& seconds : t.service.gpu_s) seconds *= 2;
      for (auto& seconds : t.arrivals.times_s) seconds *= 2;
      t.batching.max_delay_s *= 2, t.arrivals.think_s *= 2, t.arrivals.rate_per_s /= 2;
      t.arrivals.on_s *= 2, t.arrivals.off_s *= 2, *t.slo_s *= 2;
    }
    const auto a = simulate(s).value(), b = simulate(slow).value();
    RC_ASSERT(a.events == b.events);
    for (std::size_t t = 0; t < s.tenants.size(); ++t) {
      RC_ASSERT(a.tenants[t].completed == b.tenants[t].completed);
      RC_ASSERT(2 * a.tenants[t].mean_latency_s == b.tenants[t].mean_latency_s);
      RC_ASSERT(2 * a.tenants[t].p99_s == b.tenants[t].p99_s);
      RC_ASSERT(a.tenants[t].slo_met == b.tenants[t].slo_met);
    }
  }));
}

// Whatever the sharing, all work that arrives is done in the end, and no server works longer than the work is worth.
TEST(SimulatorProperty, NothingIsLost) {
  EXPECT_TRUE(rc::check("all requests of a trace complete", [](std::uint64_t seed) {
    Scenario s = random_scenario(seed);
    s.warmup_s = 0;
    std::vector<std::size_t> sent;
    for (auto& t : s.tenants) {
      Random random(seed + sent.size());
      t.arrivals.kind = Arrivals::Kind::trace;
      t.arrivals.times_s.clear();
      for (double at = 0; at < 20;) t.arrivals.times_s.push_back(at += random.exponential(0.1));
      sent.push_back(t.arrivals.times_s.size());
    }
    const auto r = simulate(s).value();
    for (std::size_t t = 0; t < s.tenants.size(); ++t)
      if (r.tenants[t].completed != sent[t]) RC_FAIL(describe(s, t));
  }));
}

// MPS gives away one GPU at most, whatever the demands, limits, streams and crowding, and slows nobody without reason.
TEST(SimulatorProperty, MpsGivesAwayOneGpu) {
  EXPECT_TRUE(rc::check("work done per second, in GPUs", [](std::uint64_t seed) {
    Random random(seed);
    Scenario s;
    s.servers = {server(Sharing::mps)};
    s.servers[0].saturation = 1 + 9 * random.uniform();
    const int tenants = 1 + static_cast<int>(random.bits() % 8);
    for (int i = 0; i < tenants; ++i) {
      s.tenants.push_back(closed("t" + std::to_string(i), 4, 0, 0.001 + 0.01 * random.uniform()));
      s.tenants[i].streams = 1 + static_cast<int>(random.bits() % 4);
      s.tenants[i].service.demand = 0.05 + 0.95 * random.uniform();
      s.tenants[i].weight = 0.05 + 0.95 * random.uniform();
    }
    const auto r = simulate(s).value();
    double gpus = 0;
    for (std::size_t i = 0; i < s.tenants.size(); ++i) {
      const double per_request = s.tenants[i].service.batch_s[0] * s.tenants[i].service.demand;
      const double share = r.tenants[i].throughput_per_s * per_request;
      // Batches that began before the window and end in it count as a whole.
      const double edge = s.tenants[i].streams * per_request / (s.duration_s - s.warmup_s);
      RC_ASSERT(share <= s.tenants[i].weight + edge);
      gpus += share;
      const double asked = std::min(s.tenants[i].streams * s.tenants[i].service.demand, s.tenants[i].weight);
      if (tenants == 1) RC_ASSERT(std::abs(share / asked - 1) < 0.01);
    }
    RC_ASSERT(gpus <= 1 + 1e-2);
  }));
}

}  // namespace
}  // namespace partita::study
