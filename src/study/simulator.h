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
  double rate_per_s = 0;        // poisson; on_off: while on; 0: never (a resident without work)
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
  // [n-1]: of these, the seconds in which the GPU works; the rest it waits for the tenant's host. Empty: all of it.
  // On a server that its tenants share (not an exclusive one) only this is shared: the host runs ahead beside it, so a
  // batch ends when its GPU work is done, and not before batch_s after its start.
  std::vector<double> gpu_s = {};
  double variation = 0;
  double demand = 1;  // share of the GPU that one batch can use alone while it works there, above 0, at most 1 (MPS)
  double memory_mib = 0;
};

struct Tenant {
  std::string name;
  Arrivals arrivals;
  Batching batching;
  Service service;
  // MPS: limit of its share, at most 1 (1: none). vGPU fixed share: its share, if all sum to at most 1.
  double weight = 1;
  int server = 0;  // which partition or GPU it runs on
  std::optional<double> slo_s;
  int streams = 1;      // batches that run at the same time; more than one only under MPS
  bool absent = false;  // not there: no memory, no slice, no requests; the others' random numbers stay the same
};

enum class Sharing {
  exclusive,         // bare metal or a MIG instance: one tenant (several: the batch whose first request waits longest)
  time_slice,        // quantum and switch cost, round robin over tenants with work
  mps,               // all run at once, slowed by contention; weights are share limits when given
  vgpu_best_effort,  // as time_slice, between VMs
  vgpu_equal_share,  // each resident VM owns 1/n of the time, used or not
  vgpu_fixed_share,  // each resident VM owns its weight's share of the time, used or not
};

struct Server {
  std::string name;  // "3g.20gb" or "A100"
  Sharing sharing = Sharing::exclusive;
  double quantum_s = 0.002, switch_s = 0.0;
  double capacity_mib = std::numeric_limits<double>::infinity();
  double contention = 0;      // MPS: extra work per busy neighbour
  double neighbour_loss = 0;  // slowdown factor - 1 while all other servers of its GPU are busy, less while some are
  double saturation = 2;      // MPS: exponent, >= 1, of the crowding rule (mps_server.cpp); infinity: none until full
  int gpu = 0;                // servers of one GPU are neighbours
};

// A change of layout while others run: from `at_s` on the server starts no batch; when those that run are done it is
// gone for `down_s`, and may come back with other service times and another capacity. Requests wait meanwhile.
struct Reconfiguration {
  double at_s = 0;
  int server = 0;
  double down_s = 0;
  std::vector<std::pair<int, Service>> services = {};  // tenant -> service afterwards
  std::optional<double> capacity_mib = {};             // afterwards
};

struct Scenario {
  std::vector<Server> servers;
  std::vector<Tenant> tenants;
  std::vector<Reconfiguration> reconfigurations;
  double duration_s = 60, warmup_s = 5;  // results are of the time between the two
  double sample_interval_s = 0;          // > 0: throughput over time per tenant, from time 0 on
  std::uint64_t seed = 1;
  std::uint64_t max_events = 4'000'000'000;  // more is an error
};

// Quantiles are within 0.4 % of a latency that occurred; the other figures are exact. A latency is that of one request,
// from its arrival to the end of its batch, for requests that ended after the warm-up.
struct TenantResult {
  std::string name;
  bool admitted = true;  // false: its memory does not fit beside the others, or it is absent
  std::uint64_t completed = 0;
  double throughput_per_s = 0;  // requests
  double mean_latency_s = 0, p50_s = 0, p95_s = 0, p99_s = 0, max_s = 0;
  double mean_queue = 0;      // requests waiting
  double mean_in_system = 0;  // requests waiting or in a batch
  double mean_batch = 0;
  double utilization = 0;         // share of time its server worked for it (MPS: that it had GPU work)
  std::optional<double> slo_met;  // share of requests; those that waited longer than the SLO at the end count as missed
  // Open arrivals beyond capacity, its own or those of another in the same line: the queue grows without bound. Then
  // all latencies, mean_queue and mean_in_system are infinite, throughput is what the server manages, and a note says
  // so.
  bool overloaded = false;
  std::vector<double> throughput_over_time;  // per sample interval
  std::vector<std::string> notes;            // what a reader of the numbers must know; empty if all is well
};

struct SimulationResult {
  std::vector<TenantResult> tenants;
  std::vector<double> server_utilization;  // share of time that it worked, switches between tenants included
  std::uint64_t events = 0;
};

// `invalid` names the tenant, server or reconfiguration and the field that is wrong. A tenant that is not admitted
// (memory beside those before it on its server) is not simulated. The same scenario gives the same result everywhere.
// Memory stays flat in simulated time; >= 5 million events/s.
Result<SimulationResult> simulate(const Scenario& scenario);

}  // namespace partita::study
