// A discrete-event simulator of tenants that share GPUs, in virtual time. Deterministic for a seed. Numbers that come
// out are simulated and must be labelled so.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita::study {

// How requests of a tenant arrive.
struct Arrivals {
  enum class Kind { closed, poisson, trace, on_off };
  Kind kind = Kind::closed;
  int clients = 1;              // closed: as many requests are always in the system or thinking
  double think_s = 0;           // closed: exponential mean
  double rate_per_s = 0;        // poisson; on_off: while on
  double on_s = 0, off_s = 0;   // on_off: exponential means
  std::vector<double> times_s;  // trace, ascending
};

struct Batching {
  int max_size = 1;
  double max_delay_s = 0;  // a batch starts when full or this long after its first request
};

// Seconds that a batch of n takes alone on the tenant's partition (or on the whole GPU, for the time-sharing modes),
// and how the time varies: gamma with this coefficient of variation (0: constant, 1: exponential).
struct Service {
  std::vector<double> batch_s;  // [n-1] for batches of n = 1..max_size
  double variation = 0;
  double demand = 1;  // share of the GPU it can use alone, 0..1 (MPS contention)
  double memory_mib = 0;
};

struct Tenant {
  std::string name;
  Arrivals arrivals;
  Batching batching;
  Service service;
  double weight = 1;  // MPS share limit, vGPU fixed share
  int server = 0;     // which partition or GPU it runs on
  std::optional<double> slo_s;
};

enum class Sharing {
  exclusive,   // bare metal or a MIG instance: one tenant (or FIFO between several)
  time_slice,  // quantum and switch cost, round robin over tenants with work
  mps,         // all run at once, slowed by contention; weights are share limits when given
  vgpu_best_effort,
  vgpu_equal_share,
  vgpu_fixed_share,
};

struct Server {
  std::string name;  // "3g.20gb" or "A100"
  Sharing sharing = Sharing::exclusive;
  double quantum_s = 0.002, switch_s = 0.0;
  double capacity_mib = std::numeric_limits<double>::infinity();
  double contention = 0;      // MPS: extra work per busy neighbour
  double neighbour_loss = 0;  // exclusive: slowdown factor - 1 while all other servers are busy
};

// A change of layout while others run: the server is gone between its drain and `ready_s` later; it may come back with
// another service time.
struct Reconfiguration {
  double at_s = 0;
  int server = 0;
  double down_s = 0;
  std::vector<std::pair<int, Service>> services;  // tenant -> service afterwards
};

struct Scenario {
  std::vector<Server> servers;
  std::vector<Tenant> tenants;
  std::vector<Reconfiguration> reconfigurations;
  double duration_s = 60, warmup_s = 5;
  double sample_interval_s = 0;  // > 0: throughput over time per tenant
  std::uint64_t seed = 1;
};

struct TenantResult {
  std::string name;
  bool admitted = true;  // false: its memory does not fit beside the others
  std::uint64_t completed = 0;
  double throughput_per_s = 0;
  double mean_latency_s = 0, p50_s = 0, p95_s = 0, p99_s = 0, max_s = 0;
  double mean_queue = 0;  // requests waiting
  double mean_batch = 0;
  double utilization = 0;                    // share of time its server worked for it
  std::optional<double> slo_met;             // share of requests
  bool overloaded = false;                   // open arrivals beyond capacity: the queue grows without bound
  std::vector<double> throughput_over_time;  // per sample interval
};

struct SimulationResult {
  std::vector<TenantResult> tenants;
  std::vector<double> server_utilization;
  std::uint64_t events = 0;
};

// `invalid` names the tenant and field that is wrong. Memory stays flat in simulated time; >= 5 million events/s.
Result<SimulationResult> simulate(const Scenario& scenario);

}  // namespace partita::study
