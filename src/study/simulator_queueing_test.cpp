// The simulator against queueing theory: each closed form must lie in the 99.9 % interval of ten runs.
#include <gmock/gmock.h>

#include <numeric>

#include "study/simulator_cases.h"

namespace partita::study {
namespace {

using namespace cases;

Scenario open_queue(Sharing sharing, Tenant tenant, double duration_s) {
  Scenario s;
  s.servers = {server(sharing)};
  s.tenants = {std::move(tenant)};
  s.duration_s = duration_s;
  s.warmup_s = duration_s / 20;
  return s;
}

// Pollaczek and Khinchine: mean time in an M/G/1 queue.
double pollaczek(double rate, double service, double variation) {
  const double load = rate * service;
  return service + load * service * (1 + variation * variation) / (2 * (1 - load));
}

TEST(Queueing, MM1MeanQuantilesAndQueue) {
  const auto s = open_queue(Sharing::exclusive, poisson("a", 80, 0.01, 1), 4000);
  agrees("M/M/1 load 0.8: mean latency", sample(s, mean_latency), 0.01 / 0.2);
  agrees("M/M/1 load 0.8: waiting requests", sample(s, [](auto& r) { return r.tenants[0].mean_queue; }), 0.64 / 0.2,
         0.06);
  agrees("M/M/1 load 0.8: utilisation", sample(s, [](auto& r) { return r.server_utilization[0]; }), 0.8);
  // The time in the system is exponential. Quantiles come from buckets 0.8 % wide.
  const auto p99 = sample(s, [](auto& r) { return r.tenants[0].p99_s; });
  EXPECT_NEAR(p99.mean, 0.05 * std::log(100), p99.half_width + 0.004 * p99.mean);
  const auto p50 = sample(s, [](auto& r) { return r.tenants[0].p50_s; });
  EXPECT_NEAR(p50.mean, 0.05 * std::log(2), p50.half_width + 0.004 * p50.mean);
}

TEST(Queueing, MD1AndMG1) {
  agrees("M/D/1 load 0.7", sample(open_queue(Sharing::exclusive, poisson("a", 70, 0.01), 2000), mean_latency),
         pollaczek(70, 0.01, 0));
  agrees("M/G/1 load 0.7, variation 0.5",
         sample(open_queue(Sharing::exclusive, poisson("a", 70, 0.01, 0.5), 2000), mean_latency),
         pollaczek(70, 0.01, 0.5));
  agrees("M/G/1 load 0.5, variation 2",
         sample(open_queue(Sharing::exclusive, poisson("a", 50, 0.01, 2), 8000), mean_latency), pollaczek(50, 0.01, 2),
         0.05);
}

TEST(Queueing, SeveralTenantsInOneLineAreOneQueue) {
  Scenario s = open_queue(Sharing::exclusive, poisson("a", 30, 0.01), 3000);
  s.tenants.push_back(poisson("b", 20, 0.01));
  s.tenants.push_back(poisson("c", 20, 0.01));
  agrees("3 tenants, one M/D/1 line: tenant a", sample(s, mean_latency), pollaczek(70, 0.01, 0));
  agrees("3 tenants, one M/D/1 line: tenant c", sample(s, [](auto& r) { return r.tenants[2].mean_latency_s; }),
         pollaczek(70, 0.01, 0));
}

// Processor sharing: the mean time is service / (1 - load) for every distribution of the service.
TEST(Queueing, MG1ProcessorSharingIsInsensitive) {
  for (const double variation : {0.0, 1.0, 2.0}) {
    auto t = poisson("a", 70, 0.01, variation);
    t.streams = 100'000;
    agrees(("M/G/1 processor sharing load 0.7, variation " + std::to_string(variation).substr(0, 3)).c_str(),
           sample(open_queue(Sharing::mps, t, 3000), mean_latency), 0.01 / 0.3);
  }
}

// A job that takes 1/c of the GPU at most: c servers.
TEST(Queueing, MMcFromShares) {
  constexpr int c = 4;
  constexpr double load = 0.8, service = 0.01;
  auto t = poisson("a", c * load / service, service, 1);
  t.service.demand = 1.0 / c;
  t.streams = 100'000;
  double sum = 0, term = 1;  // Erlang's C
  for (int k = 0; k < c; ++k) sum += term, term *= c * load / (k + 1);
  const double waits = term / (1 - load) / (sum + term / (1 - load));
  agrees("M/M/4 load 0.8: mean latency", sample(open_queue(Sharing::mps, t, 1500), mean_latency),
         service + waits * service / (c * (1 - load)));
}

// A limit of 1/2 makes every job take twice as long.
TEST(Queueing, MpsLimitScalesService) {
  auto t = poisson("a", 30, 0.01, 1);
  t.weight = 0.5;
  agrees("M/M/1 under an MPS limit of 50 %", sample(open_queue(Sharing::mps, t, 3000), mean_latency), 0.02 / 0.4);
}

// Machine repairman: n clients, exponential think time, one exponential server (mean value analysis).
double repairman_throughput(int clients, double think, double service) {
  double queue = 0, rate = 0;
  for (int n = 1; n <= clients; ++n) {
    const double time = service * (1 + queue);
    rate = n / (think + time);
    queue = rate * time;
  }
  return rate;
}

TEST(Queueing, ClosedNetworkIsMachineRepairman) {
  const auto throughput = [](const SimulationResult& r) { return r.tenants[0].throughput_per_s; };
  for (const int clients : {1, 4, 12})
    agrees(("machine repairman, " + std::to_string(clients) + " clients: throughput").c_str(),
           sample(open_queue(Sharing::exclusive, closed("a", clients, 0.05, 0.01, 1), 1000), throughput),
           repairman_throughput(clients, 0.05, 0.01));
}

// One client each, so that a tenant is a job: with demand 1 MPS is the processor-sharing repairman, insensitive to the
// service distribution; short quanta come near it.
Scenario sharers(Sharing sharing, double quantum_s) {
  Scenario s;
  s.servers = {server(sharing)};
  s.servers[0].quantum_s = quantum_s;
  for (int i = 0; i < 6; ++i) s.tenants.push_back(closed(std::string(1, static_cast<char>('a' + i)), 1, 0.03, 0.01));
  s.duration_s = 500;
  s.warmup_s = 10;
  return s;
}

double total_throughput(const SimulationResult& r) {
  return std::accumulate(r.tenants.begin(), r.tenants.end(), 0.0,
                         [](double sum, const TenantResult& t) { return sum + t.throughput_per_s; });
}

TEST(Queueing, TimeSlicingBecomesProcessorSharing) {
  const double expected = repairman_throughput(6, 0.03, 0.01);
  agrees("processor sharing, 6 sharers of constant work", sample(sharers(Sharing::mps, 1), total_throughput), expected);
  double last = 1;
  for (const double quantum : {0.01, 0.001, 0.00005}) {
    const auto s = sample(sharers(Sharing::time_slice, quantum), total_throughput);
    const double distance = std::abs(s.mean / expected - 1);
    std::printf("[   FIGURE ] quantum %g s: total %.5g/s, %.2f %% from processor sharing (%.5g/s)\n", quantum, s.mean,
                100 * distance, expected);
    EXPECT_LT(distance, last + 1e-3);
    last = distance;
  }
  EXPECT_LT(last, 0.003);
}

// Equal share: a VM has 1/n of the time whatever the others do, so with short slices it is alone on a slower GPU.
TEST(Queueing, EqualAndFixedShareAreSlowerServers) {
  Scenario s = open_queue(Sharing::vgpu_equal_share, poisson("a", 30, 0.01, 1), 1500);
  s.servers[0].quantum_s = 1e-5;
  s.tenants.push_back(poisson("idle", 0, 0.01));
  agrees("equal share of 2, the other idle: M/M/1 at half speed", sample(s, mean_latency), 0.02 / 0.4, 0.05);
  s.servers[0].sharing = Sharing::vgpu_fixed_share;
  s.tenants[0].weight = 3;
  agrees("fixed share 3 of 4: M/M/1 at 3/4 speed", sample(s, mean_latency), 0.04 / 3 / (1 - 0.4), 0.05);
  s.tenants.resize(1);
  s.tenants[0].weight = 0.5;
  agrees("fixed share 0.5, alone: M/M/1 at half speed", sample(s, mean_latency), 0.02 / 0.4, 0.05);
}

// A host that runs ahead beside the GPU: a step alone takes its host's time; N of them take the larger of that and of
// their GPU work together.
TEST(Queueing, HostTimeOverlapsWithTheOthersOnTheGpu) {
  constexpr double host = 0.010;
  for (const Sharing sharing :
       {Sharing::time_slice, Sharing::vgpu_best_effort, Sharing::mps, Sharing::vgpu_equal_share}) {
    for (const double gpu : {0.001, 0.002, 0.004, 0.010}) {
      for (const int sharers : {1, 4}) {
        Scenario s;
        s.servers = {server(sharing)};
        s.servers[0].quantum_s = 1e-4;
        for (int i = 0; i < sharers; ++i) {
          s.tenants.push_back(closed("t" + std::to_string(i), 1, 0, host));
          s.tenants.back().service.gpu_s = {gpu};
        }
        const auto r = run(s);
        const double step = std::max(host, sharers * gpu);
        for (const auto& t : r.tenants) {
          EXPECT_NEAR(t.mean_latency_s / step, 1, 0.05) << static_cast<int>(sharing) << ' ' << gpu << ' ' << sharers;
          EXPECT_NEAR(t.throughput_per_s * step, 1, 0.05) << static_cast<int>(sharing) << ' ' << gpu << ' ' << sharers;
        }
        if (sharing != Sharing::mps) {
          EXPECT_NEAR(r.server_utilization[0], sharers * gpu / step, 0.05);
        }
      }
    }
  }
}

// Alone on a shared GPU: M/D/1 with the whole step. On one that it has to itself the two are not told apart.
TEST(Queueing, AStepAloneTakesItsHostsTime) {
  auto t = poisson("a", 70, 0.01);
  t.service.gpu_s = {0.003};
  for (const Sharing sharing : {Sharing::exclusive, Sharing::time_slice, Sharing::mps, Sharing::vgpu_equal_share})
    agrees("M/D/1 load 0.7, 30 % of it on the GPU", sample(open_queue(sharing, t, 2000), mean_latency),
           pollaczek(70, 0.01, 0));
  // Beyond what its host can do, or beyond its share of the GPU.
  t.arrivals.rate_per_s = 101;
  EXPECT_TRUE(run(open_queue(Sharing::time_slice, t, 60)).tenants[0].overloaded);
  t.arrivals.rate_per_s = 90;
  Scenario shared = open_queue(Sharing::vgpu_equal_share, t, 60);
  for (int i = 1; i < 4; ++i) shared.tenants.push_back(poisson(std::string(1, static_cast<char>('a' + i)), 0, 0.01));
  EXPECT_TRUE(run(shared).tenants[0].overloaded);  // 0.27 of the GPU, and a quarter is its own
  shared.tenants.pop_back();
  EXPECT_FALSE(run(shared).tenants[0].overloaded);
}

TEST(Queueing, BatchesBoundThroughput) {
  auto t = closed("a", 64, 0, 0.010);
  t.batching.max_size = 8;
  t.service.batch_s = {0.010, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.017};
  const auto r = run(open_queue(Sharing::exclusive, t, 100));
  EXPECT_NEAR(r.tenants[0].throughput_per_s, 8 / 0.017, 8 / 0.017 * 1e-3);  // always full
  EXPECT_DOUBLE_EQ(r.tenants[0].mean_batch, 8);
  EXPECT_NEAR(r.tenants[0].mean_latency_s, 8 * 0.017, 1e-3);  // eight batches of 8 take turns

  // Sparse requests with a delay: each waits for it, alone.
  auto sparse = poisson("a", 0.1, 0.010);
  sparse.batching = {8, 0.005};
  sparse.service.batch_s = t.service.batch_s;
  const auto alone = run(open_queue(Sharing::exclusive, sparse, 20000));
  EXPECT_NEAR(alone.tenants[0].p50_s, 0.015, 0.015 * 0.004);
  EXPECT_LT(alone.tenants[0].mean_batch, 1.01);

  // Between: more than single requests could be served, less than full batches would.
  sparse.arrivals.rate_per_s = 300;
  const auto busy = run(open_queue(Sharing::exclusive, sparse, 200));
  EXPECT_FALSE(busy.tenants[0].overloaded);
  EXPECT_NEAR(busy.tenants[0].throughput_per_s, 300, 5);
  EXPECT_THAT(busy.tenants[0].mean_batch, testing::AllOf(testing::Gt(3), testing::Lt(8)));
}

TEST(Queueing, OnOffArrivalsHaveTheirMeanRate) {
  auto t = poisson("a", 100, 0.001);
  t.arrivals.kind = Arrivals::Kind::on_off;
  t.arrivals.on_s = 1;
  t.arrivals.off_s = 3;
  agrees("on-off: mean rate",
         sample(open_queue(Sharing::exclusive, t, 20000), [](auto& r) { return r.tenants[0].throughput_per_s; }), 25,
         0.05);
}

}  // namespace
}  // namespace partita::study
