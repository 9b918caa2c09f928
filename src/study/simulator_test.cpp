// What simulate() promises beside the laws of queues: exact timelines, determinism, admission, reconfiguration,
// neighbours, overload, bounded memory, and errors that name what is wrong.
#include "study/simulator.h"

#include <gmock/gmock.h>

#include "study/isolation.h"
#include "study/simulator_cases.h"

namespace partita::study {
namespace {

using namespace cases;
using testing::ElementsAre;
using testing::HasSubstr;

Tenant at(const std::string& name, std::vector<double> times, double batch_s) {
  Tenant t = tenant(name, batch_s);
  t.arrivals.kind = Arrivals::Kind::trace;
  t.arrivals.times_s = std::move(times);
  return t;
}

Scenario scenario(Server s, std::vector<Tenant> tenants, double duration_s = 10) {
  Scenario result;
  result.servers = {std::move(s)};
  result.tenants = std::move(tenants);
  result.duration_s = duration_s;
  result.warmup_s = 0;
  return result;
}

TEST(Simulator, TimeSlicesTakeTurnsAndSwitchesCost) {
  auto gpu = server(Sharing::time_slice);
  gpu.quantum_s = 0.002;
  gpu.switch_s = 0.001;
  // a 0-2, switch, b 3-5, switch, a 6-8, switch, b 9-10 done, switch, a 11-12 done
  const auto r = run(scenario(gpu, {at("a", {0}, 0.005), at("b", {0}, 0.003)}));
  EXPECT_NEAR(r.tenants[0].max_s, 0.012, 1e-12);
  EXPECT_NEAR(r.tenants[1].max_s, 0.010, 1e-12);
  EXPECT_NEAR(r.tenants[0].utilization * 10, 0.005, 1e-12);
  EXPECT_NEAR(r.server_utilization[0] * 10, 0.012, 1e-12);
}

TEST(Simulator, ATenantAloneIsNotInterruptedUntilAnotherComes) {
  auto gpu = server(Sharing::vgpu_best_effort);
  gpu.quantum_s = 0.002;
  gpu.switch_s = 0.001;
  // a runs from 0; b comes at 5 ms, within a's third slice, which ends at 6; b 7-8 done; a 9-13 done
  const auto r = run(scenario(gpu, {at("a", {0}, 0.010), at("b", {0.005}, 0.001)}));
  EXPECT_NEAR(r.tenants[1].max_s, 0.003, 1e-12);
  EXPECT_NEAR(r.tenants[0].max_s, 0.013, 1e-12);
}

TEST(Simulator, EqualShareOwnsItsSlicesAlsoWhenTheOthersSleep) {
  auto gpu = server(Sharing::vgpu_equal_share);
  gpu.quantum_s = 0.002;
  gpu.switch_s = 0.0005;
  // Frames of 5 ms: a owns 0.5-2.5, b 3-5. a needs 3 ms: 0.5-2.5 and 5.5-6.5.
  const auto r = run(scenario(gpu, {at("a", {0}, 0.003), at("b", {}, 0.003)}));
  EXPECT_NEAR(r.tenants[0].max_s, 0.0065, 1e-12);
  EXPECT_EQ(r.tenants[1].completed, 0u);
  // In b's place: the first slice is 3-5, then 8-9.
  const auto other = run(scenario(gpu, {at("a", {}, 0.003), at("b", {0}, 0.003)}));
  EXPECT_NEAR(other.tenants[1].max_s, 0.009, 1e-12);
}

TEST(Simulator, MpsSlowsByDemand) {
  auto gpu = server(Sharing::mps);
  gpu.saturation = std::numeric_limits<double>::infinity();
  auto a = at("a", {0}, 1), b = at("b", {0}, 1), c = at("c", {0}, 1);
  a.service.demand = b.service.demand = c.service.demand = 0.4;
  EXPECT_NEAR(run(scenario(gpu, {a, b})).tenants[0].max_s, 1, 1e-12);       // 0.8 of the GPU: nobody waits
  EXPECT_NEAR(run(scenario(gpu, {a, b, c})).tenants[0].max_s, 1.2, 1e-12);  // 1.2
  gpu.contention = 0.1;
  EXPECT_NEAR(run(scenario(gpu, {a, b, c})).tenants[0].max_s, 1.44, 1e-12);
  gpu.contention = 0;
  gpu.saturation = 2;
  EXPECT_NEAR(run(scenario(gpu, {a, b})).tenants[0].max_s, std::sqrt(1 - 0.16 + 0.64), 1e-12);
  EXPECT_NEAR(run(scenario(gpu, {a})).tenants[0].max_s, 1, 1e-12);
  a.weight = 0.1;  // a quarter of what it can use
  EXPECT_NEAR(run(scenario(gpu, {a})).tenants[0].max_s, 4, 1e-12);
}

TEST(Simulator, ABatchStartsWhenFullOrAfterItsDelay) {
  auto t = at("a", {0, 0.001, 0.002, 0.010}, 0.001);
  t.batching = {3, 0.005};
  t.service.batch_s = {0.001, 0.002, 0.003};
  const auto r = run(scenario(server(Sharing::exclusive), {t}));
  // the three start at 2 ms and end at 5; the fourth waits 5 ms and takes 1
  EXPECT_EQ(r.tenants[0].completed, 4u);
  EXPECT_NEAR(r.tenants[0].mean_latency_s, (0.005 + 0.004 + 0.003 + 0.006) / 4, 1e-12);
  EXPECT_DOUBLE_EQ(r.tenants[0].mean_batch, 2);
}

TEST(Simulator, ReconfigurationDrainsIsGoneAndComesBackWhileOthersRun) {
  Scenario s;
  s.servers = {server(Sharing::exclusive, "3g"), server(Sharing::exclusive, "2g")};
  s.tenants = {closed("stays", 1, 0, 0.01), closed("changes", 1, 0, 0.03)};
  s.tenants[1].server = 1;
  s.duration_s = 10;
  s.warmup_s = 0;
  s.sample_interval_s = 1;
  Reconfiguration change{.at_s = 4, .server = 1, .down_s = 2, .services = {{1, s.tenants[1].service}}};
  change.services[0].second.batch_s = {0.015};
  s.reconfigurations = {change};
  const auto r = run(s);
  ASSERT_EQ(r.tenants[1].throughput_over_time.size(), 10u);
  for (const double rate : r.tenants[0].throughput_over_time) EXPECT_NEAR(rate, 100, 1.01);
  EXPECT_NEAR(r.tenants[1].throughput_over_time[3], 100.0 / 3, 1.01);
  EXPECT_NEAR(r.tenants[1].throughput_over_time[4], 1, 0.01);  // the batch that ran at 4 s ends at 4.02
  EXPECT_EQ(r.tenants[1].throughput_over_time[5], 0);
  EXPECT_NEAR(r.tenants[1].throughput_over_time[7], 200.0 / 3, 1.01);
  EXPECT_NEAR(r.tenants[1].max_s, 2.015, 0.02);
}

TEST(Simulator, ReconfigurationWaitsForTheHostToo) {
  auto t = at("a", {3.9, 4.5}, 1);
  t.service.gpu_s = {0.05};
  Scenario s = scenario(server(Sharing::time_slice), {t});
  s.reconfigurations = {{.at_s = 4, .server = 0, .down_s = 2}};  // the host is done at 4.9, the server back at 6.9
  const auto r = run(s);
  EXPECT_EQ(r.tenants[0].completed, 2u);
  EXPECT_NEAR(r.tenants[0].max_s, 7.9 - 4.5, 1e-12);
  EXPECT_NEAR(r.tenants[0].mean_latency_s, (1 + 7.9 - 4.5) / 2, 1e-12);
}

TEST(Simulator, MemoryDecidesWhoIsIn) {
  auto gpu = server(Sharing::mps);
  gpu.capacity_mib = 100;
  auto a = closed("a", 1, 0, 0.01), b = a, c = a;
  b.name = "b", c.name = "c";
  a.service.memory_mib = 60, b.service.memory_mib = 50, c.service.memory_mib = 40;
  const auto r = run(scenario(gpu, {a, b, c}));
  EXPECT_TRUE(r.tenants[0].admitted);
  EXPECT_FALSE(r.tenants[1].admitted);
  EXPECT_TRUE(r.tenants[2].admitted);
  EXPECT_EQ(r.tenants[1].completed, 0u);
  EXPECT_THAT(r.tenants[1].notes,
              ElementsAre(HasSubstr("its 50 MiB do not fit beside the others in the 100 MiB of gpu")));
}

TEST(Simulator, OverloadIsSaidNeverANumber) {
  for (const Sharing sharing : {Sharing::exclusive, Sharing::time_slice, Sharing::mps, Sharing::vgpu_equal_share}) {
    const auto r = run(scenario(server(sharing), {poisson("a", 120, 0.01)}, 60));
    EXPECT_TRUE(r.tenants[0].overloaded);
    EXPECT_NEAR(r.tenants[0].throughput_per_s, 100, 1);
    EXPECT_TRUE(std::isinf(r.tenants[0].mean_latency_s) && std::isinf(r.tenants[0].p99_s));
    EXPECT_THAT(r.tenants[0].notes, ElementsAre(HasSubstr("the queue grows without bound")));
  }
  // Just beyond and just below; bursts; and the queue that only the others make grow.
  EXPECT_TRUE(run(scenario(server(Sharing::exclusive), {poisson("a", 100.5, 0.01)}, 60)).tenants[0].overloaded);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    auto s = scenario(server(Sharing::exclusive), {poisson("a", 95, 0.01, 1)}, 100);
    s.seed = seed;
    EXPECT_FALSE(run(s).tenants[0].overloaded) << seed;
    s.tenants[0] = poisson("a", 160, 0.01);
    s.tenants[0].arrivals.kind = Arrivals::Kind::on_off;
    s.tenants[0].arrivals.on_s = s.tenants[0].arrivals.off_s = 0.5;
    EXPECT_FALSE(run(s).tenants[0].overloaded) << seed;
  }
  const auto shared = run(scenario(server(Sharing::time_slice),
                                   {poisson("a", 60, 0.01), poisson("b", 30, 0.01), closed("c", 4, 0, 0.01)}, 300));
  EXPECT_TRUE(shared.tenants[0].overloaded);   // wants 0.6, gets a third and what b leaves
  EXPECT_FALSE(shared.tenants[1].overloaded);  // 0.3 is below its third
  EXPECT_FALSE(shared.tenants[2].overloaded);  // closed loops are not, by themselves
  // In one line everybody waits behind the one who sends too much.
  const auto line = run(scenario(server(Sharing::exclusive), {poisson("a", 110, 0.01), closed("b", 1, 0.1, 0.01)}, 60));
  EXPECT_TRUE(line.tenants[1].overloaded);
  EXPECT_TRUE(std::isinf(line.tenants[1].p99_s));
}

TEST(Simulator, RequestsThatStillWaitMissTheirSlo) {
  auto t = at("a", {0, 0, 0, 0}, 4);
  t.slo_s = 5;
  const auto r = run(scenario(server(Sharing::exclusive), {t}, 10));
  EXPECT_EQ(r.tenants[0].completed, 2u);
  EXPECT_DOUBLE_EQ(r.tenants[0].slo_met.value(), 1.0 / 3);  // 4 s met, 8 s late, one waits, one runs
}

TEST(Simulator, SameSeedSameResultEverywhere) {
  Scenario s;
  s.servers = {server(Sharing::exclusive), server(Sharing::mps)};
  s.tenants = {poisson("a", 50, 0.01, 0.5), poisson("b", 50, 0.01, 2)};
  s.tenants[1].server = 1;
  s.tenants[1].streams = 10;
  const auto first = run(s), second = run(s);
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(first.tenants[t].completed, second.tenants[t].completed);
    EXPECT_EQ(first.tenants[t].mean_latency_s, second.tenants[t].mean_latency_s);
  }
  s.seed = 2;
  EXPECT_NE(run(s).tenants[0].mean_latency_s, first.tenants[0].mean_latency_s);
  // The very numbers: a change of platform, compiler or order of draws shows here.
  EXPECT_EQ(first.tenants[0].completed, 2884u);
  EXPECT_EQ(first.tenants[1].completed, 2743u);
  EXPECT_EQ(first.tenants[0].mean_latency_s, 0.017006378234182374);
  EXPECT_EQ(first.tenants[1].mean_latency_s, 0.026041536408602867);
}

TEST(Simulator, MoreRequestsThanTheQueueHoldsAreCountedAsMissed) {
  auto t = poisson("a", 100'000, 1);
  t.slo_s = 2;
  const auto r = run(scenario(server(Sharing::exclusive), {t}, 20));  // two million requests, a million kept
  EXPECT_TRUE(r.tenants[0].overloaded);
  EXPECT_LT(r.tenants[0].slo_met.value(), 1e-5);
}

TEST(Simulator, IsolationComparesWithTheTenantAlone) {
  auto s = scenario(server(Sharing::time_slice), {closed("a", 1, 0, 0.01), closed("b", 1, 0, 0.01)}, 100);
  const auto result = isolation(s, run(s));
  ASSERT_TRUE(result.has_value());
  EXPECT_NEAR((*result)[0].value().throughput_loss, 0.5, 0.01);
  EXPECT_NEAR((*result)[1].value().p99_ratio, 2, 0.25);
}

TEST(Simulator, NeighboursAreThoseOfTheSameGpu) {
  Scenario s;
  for (int i = 0; i < 4; ++i) {
    s.servers.push_back({.name = "3g", .neighbour_loss = 0.25, .gpu = i / 2});
    if (i == 2) continue;
    s.tenants.push_back(closed("t" + std::to_string(i), 1, 0, 0.01));
    s.tenants.back().server = i;
  }
  const auto r = run(s);
  EXPECT_NEAR(r.tenants[0].throughput_per_s, 80, 0.1);
  EXPECT_NEAR(r.tenants[2].throughput_per_s, 100, 0.1);  // its neighbour on GPU 1 has no tenant
}

TEST(Simulator, BadInputNamesTenantAndField) {
  const Scenario good = scenario(server(Sharing::exclusive), {poisson("web", 10, 0.01)});
  const auto message = [&](const std::function<void(Scenario&)>& spoil) {
    Scenario s = good;
    spoil(s);
    const auto result = simulate(s);
    EXPECT_FALSE(result.has_value());
    EXPECT_TRUE(result || result.error().code == ErrorCode::invalid);
    return result ? "" : result.error().message;
  };
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message([&](Scenario& s) { s.tenants[0].arrivals.rate_per_s = nan; }),
            "tenant web: arrivals.rate_per_s: expected a number at least 0 and at most 1e+09, found nan");
  EXPECT_EQ(message([](Scenario& s) { s.tenants[0].server = 1; }), "tenant web: server: expected 0 to 0, found 1");
  EXPECT_EQ(
      message([](Scenario& s) { s.tenants[0].batching.max_size = 2; }),
      "tenant web: service.batch_s: expected the seconds of batches of 1 to batching.max_size = 2, found 1 number");
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.batch_s = {0}; }), HasSubstr("web: service.batch_s of 1"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.gpu_s = {0.02}; }),
              HasSubstr("web: service.gpu_s of 1: expected a number above 0 and at most 0.01, found 0.02"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.gpu_s = {0.01, 0.01}; }),
              HasSubstr("web: service.gpu_s: expected none or as many as batch_s has (1), found 2"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.variation = -1; }), HasSubstr("web: service.variation"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.demand = 0; }), HasSubstr("web: service.demand"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.demand = 1.1; }), HasSubstr("found 1.1"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].service.memory_mib = -1; }), HasSubstr("web: service.memory_mib"));
  EXPECT_THAT(message([&](Scenario& s) { s.tenants[0].batching.max_delay_s = infinite; }),
              HasSubstr("web: batching.max_delay_s"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].weight = 0; }),
              HasSubstr("web: weight: expected a number above 0"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].slo_s = 0; }), HasSubstr("web: slo_s"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].streams = 2; }),
              HasSubstr("web: streams: expected 1 on a server"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0] = closed("web", 0, 0, 1); }), HasSubstr("web: arrivals.clients"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0] = closed("web", 1, -1, 1); }), HasSubstr("web: arrivals.think_s"));
  EXPECT_EQ(message([](Scenario& s) { s.tenants[0] = at("web", {0, 2, 1}, 1); }),
            "tenant web: arrivals.times_s: expected finite, ascending times from 0 on, found 1 after 2");
  EXPECT_THAT(message([](Scenario& s) {
                s.servers[0].sharing = Sharing::mps;
                s.tenants[0].weight = 30;
              }),
              HasSubstr("web: weight: expected a number above 0 and at most 1, found 30"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants.push_back(s.tenants[0]); }), HasSubstr("two tenants have it"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants[0].name = ""; }), HasSubstr("tenant: name"));
  EXPECT_THAT(message([](Scenario& s) { s.tenants.clear(); }), HasSubstr("number of tenants"));
  EXPECT_THAT(message([](Scenario& s) { s.servers[0].quantum_s = 0; }), HasSubstr("server 0 (gpu): quantum_s"));
  EXPECT_THAT(message([](Scenario& s) { s.servers[0].saturation = 0.5; }), HasSubstr("server 0 (gpu): saturation"));
  EXPECT_THAT(message([](Scenario& s) { s.warmup_s = 10; }), HasSubstr("warmup_s: expected less than duration_s = 10"));
  EXPECT_THAT(message([](Scenario& s) { s.sample_interval_s = 1e-9; }), HasSubstr("samples"));
  EXPECT_THAT(message([](Scenario& s) { s.max_events = 50; }), HasSubstr("took max_events = 50 events"));
  EXPECT_THAT(message([](Scenario& s) { s.reconfigurations = {{.at_s = 1, .server = 3}}; }),
              HasSubstr("reconfiguration 0: server"));
  EXPECT_THAT(message([](Scenario& s) { s.reconfigurations = {{.at_s = 1, .services = {{0, {}}}}}; }),
              HasSubstr("reconfiguration 0: tenant web: service.batch_s"));
  EXPECT_THAT(message([](Scenario& s) { s.reconfigurations = {{.at_s = 2}, {.at_s = 1}}; }), HasSubstr("ascending"));
  EXPECT_THAT(message([](Scenario& s) {
                s.tenants[0].service.memory_mib = 10;
                s.reconfigurations = {{.at_s = 2, .capacity_mib = 5}};
              }),
              HasSubstr("need 10 MiB afterwards, which has 5"));
}

}  // namespace
}  // namespace partita::study
