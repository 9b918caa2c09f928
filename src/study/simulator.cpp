// The loop of the simulation: arrivals fill queues, queues make batches, server models run them, statistics count.
//
// Every clock is one slot of the event queue: per server its model and its reconfigurations, per tenant its arrivals
// the delay of its batch and its host, and the end of the warm-up. So memory depends on the scenario and the longest
// queue only.
#include "study/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "study/arrival_source.h"
#include "study/event_queue.h"
#include "study/overload.h"
#include "study/request_queue.h"
#include "study/server_model.h"
#include "study/simulator_check.h"
#include "study/tenant_stats.h"

namespace partita::study {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct TenantState {
  const Tenant* spec = nullptr;
  Service service;  // now
  ArrivalSource source;
  Random random;  // service times
  TenantStats stats;
  std::size_t server = 0;
  bool admitted = false;
  int place = 0;  // among the server's residents, if admitted
  RequestQueue waiting;
  int running = 0;                           // batches
  std::vector<std::pair<double, int>> held;  // heap: when its host is done, batch whose GPU work is done before
  double used_at_warmup = 0;
};

struct ServerState {
  const Server* spec = nullptr;
  std::vector<std::size_t> tenants;
  std::unique_ptr<ServerModel> model;
  std::vector<const Reconfiguration*> changes;  // those to come, the next one last
  enum class Phase { up, draining, down } phase = Phase::up;
  int held = 0;               // batches of its tenants whose host is not done
  bool counted_busy = false;  // among the neighbours of its GPU
  double worked_at_warmup = 0;
};

struct Batch {
  std::size_t tenant = 0;
  double host_done_s = 0;  // not before this moment it ends
  std::vector<double> arrived_s;
};

// Servers of one GPU, when some of them slow down beside busy neighbours.
struct Neighbourhood {
  std::vector<std::size_t> servers;
  int busy = 0;
  bool matters = false;
};

class Simulation {
 public:
  explicit Simulation(const Scenario& scenario);
  Result<SimulationResult> run();

 private:
  // Slots of the event queue.
  std::size_t model_slot(std::size_t server) const { return server; }
  std::size_t change_slot(std::size_t server) const { return servers_.size() + server; }
  std::size_t arrival_slot(std::size_t tenant) const { return 2 * servers_.size() + tenant; }
  std::size_t delay_slot(std::size_t tenant) const { return 2 * servers_.size() + tenants_.size() + tenant; }
  std::size_t host_slot(std::size_t tenant) const { return 2 * (servers_.size() + tenants_.size()) + tenant; }
  std::size_t warmup_slot() const { return 2 * servers_.size() + 3 * tenants_.size(); }

  void add_tenants();
  void add_servers();
  void start();
  void handle(std::size_t slot);
  void on_model(std::size_t server);
  void on_arrival(std::size_t tenant);
  void on_host(std::size_t tenant);
  void on_change(std::size_t server);
  void on_warmup();

  void arrive(TenantState& tenant);
  void gpu_done(std::size_t tenant, int batch);
  void watch_host(std::size_t tenant);
  void complete(int batch);
  bool ready(const TenantState& tenant) const;
  void begin_batch(std::size_t tenant);
  void dispatch_exclusive(ServerState& server);
  void dispatch(std::size_t tenant);
  void watch_delay(std::size_t tenant);
  void settle(std::size_t server);
  void meet_neighbours(std::size_t server);
  void drain(std::size_t server);
  std::vector<bool> overloaded() const;
  TenantResult result_of(TenantState& tenant, bool overloaded) const;

  const Scenario& scenario_;
  std::vector<bool> admitted_;
  std::deque<TenantState> tenants_;  // residents point into it
  std::vector<ServerState> servers_;
  std::vector<Neighbourhood> gpus_;
  std::vector<std::size_t> gpu_of_;  // per server, index in gpus_
  std::vector<Batch> batches_;
  std::vector<int> free_batches_;
  EventQueue queue_;
  double now_ = 0;
  std::uint64_t events_ = 0;
};

Simulation::Simulation(const Scenario& scenario)
    : scenario_(scenario),
      admitted_(admitted(scenario)),
      queue_(2 * scenario.servers.size() + 3 * scenario.tenants.size() + 1) {
  servers_.resize(scenario.servers.size());
  add_tenants();
  add_servers();
}

void Simulation::add_tenants() {
  for (std::size_t t = 0; t < scenario_.tenants.size(); ++t) {
    const Tenant& spec = scenario_.tenants[t];
    TenantState state{.spec = &spec,
                      .service = spec.service,
                      .source = ArrivalSource(spec.arrivals, Random(scenario_.seed, 2 * t)),
                      .random = Random(scenario_.seed, 2 * t + 1),
                      .stats = TenantStats(spec.slo_s, scenario_.sample_interval_s, scenario_.duration_s),
                      .server = static_cast<std::size_t>(spec.server),
                      .waiting = {},
                      .held = {}};
    auto& residents = servers_[state.server].tenants;
    if (admitted_[t]) {
      state.admitted = true;
      state.place = static_cast<int>(residents.size());
      residents.push_back(t);
    }
    tenants_.push_back(std::move(state));
  }
}

void Simulation::add_servers() {
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    auto& server = servers_[s];
    server.spec = &scenario_.servers[s];
    std::vector<Resident> residents;
    for (const auto t : server.tenants) residents.push_back({tenants_[t].spec->weight, &tenants_[t].service.demand});
    server.model = make_server_model(*server.spec, residents);

    std::size_t first = 0;  // the first server of the same GPU
    while (scenario_.servers[first].gpu != server.spec->gpu) ++first;
    gpu_of_.push_back(first == s ? gpus_.size() : gpu_of_[first]);
    if (first == s) gpus_.emplace_back();
    auto& gpu = gpus_[gpu_of_[s]];
    gpu.servers.push_back(s);
    gpu.matters = gpu.matters || server.spec->neighbour_loss > 0;
  }
  for (auto change = scenario_.reconfigurations.rbegin(); change != scenario_.reconfigurations.rend(); ++change)
    servers_[static_cast<std::size_t>(change->server)].changes.push_back(&*change);
}

Result<SimulationResult> Simulation::run() {
  start();
  for (;;) {
    const std::size_t slot = queue_.first();
    const double time = queue_.time(slot);
    if (!(time <= scenario_.duration_s)) break;
    now_ = time;
    if (++events_ > scenario_.max_events)
      return fail(
          ErrorCode::invalid,
          fmt::format("scenario: duration_s: {:g} of {:g} s took max_events = {} events; simulate a shorter time", now_,
                      scenario_.duration_s, scenario_.max_events));
    handle(slot);
  }
  now_ = scenario_.duration_s;

  SimulationResult result;
  result.events = events_;
  const double window = scenario_.duration_s - scenario_.warmup_s;
  for (auto& server : servers_) {
    server.model->advance(now_);
    result.server_utilization.push_back((server.model->worked() - server.worked_at_warmup) / window);
  }
  const auto over = overloaded();
  for (std::size_t t = 0; t < tenants_.size(); ++t) result.tenants.push_back(result_of(tenants_[t], over[t]));
  return result;
}

void Simulation::start() {
  queue_.set(warmup_slot(), scenario_.warmup_s);
  for (std::size_t s = 0; s < servers_.size(); ++s)
    if (!servers_[s].changes.empty()) queue_.set(change_slot(s), servers_[s].changes.back()->at_s);
  for (std::size_t t = 0; t < tenants_.size(); ++t) {
    auto& tenant = tenants_[t];
    if (!tenant.admitted) continue;
    queue_.set(arrival_slot(t), tenant.source.next());
    for (int i = tenant.source.at_start(); i > 0; --i) arrive(tenant);
  }
  for (std::size_t t = 0; t < tenants_.size(); ++t)
    if (tenants_[t].admitted) dispatch(t);
  for (std::size_t s = 0; s < servers_.size(); ++s) settle(s);
}

void Simulation::handle(std::size_t slot) {
  const std::size_t servers = servers_.size(), tenants = tenants_.size();
  if (slot < servers) return on_model(slot);
  slot -= servers;
  if (slot < servers) return on_change(slot);
  slot -= servers;
  if (slot < tenants) return on_arrival(slot);
  slot -= tenants;
  if (slot == 2 * tenants) return on_warmup();
  if (slot >= tenants) return on_host(slot - tenants);
  queue_.set(delay_slot(slot), kNever);
  dispatch(slot);
  settle(tenants_[slot].server);
}

void Simulation::on_model(std::size_t s) {
  if (const auto batch = servers_[s].model->handle(now_)) {
    const std::size_t tenant = batches_[static_cast<std::size_t>(*batch)].tenant;
    gpu_done(tenant, *batch);
    dispatch(tenant);
  }
  settle(s);
  if (servers_[s].phase == ServerState::Phase::draining) drain(s);
}

void Simulation::gpu_done(std::size_t t, int batch) {
  const double until = batches_[static_cast<std::size_t>(batch)].host_done_s;
  if (until <= now_) return complete(batch);
  auto& held = tenants_[t].held;
  held.emplace_back(until, batch);
  std::push_heap(held.begin(), held.end(), std::greater<>());
  ++servers_[tenants_[t].server].held;
  watch_host(t);
}

void Simulation::watch_host(std::size_t t) {
  const auto& held = tenants_[t].held;
  queue_.set(host_slot(t), held.empty() ? kNever : held.front().first);
}

void Simulation::on_host(std::size_t t) {
  auto& tenant = tenants_[t];
  const int batch = tenant.held.front().second;
  std::pop_heap(tenant.held.begin(), tenant.held.end(), std::greater<>());
  tenant.held.pop_back();
  --servers_[tenant.server].held;
  watch_host(t);
  complete(batch);
  dispatch(t);
  settle(tenant.server);
  if (servers_[tenant.server].phase == ServerState::Phase::draining) drain(tenant.server);
}

void Simulation::on_arrival(std::size_t t) {
  auto& tenant = tenants_[t];
  tenant.source.arrived();
  queue_.set(arrival_slot(t), tenant.source.next());
  arrive(tenant);
  dispatch(t);
  settle(tenant.server);
}

void Simulation::on_change(std::size_t s) {
  auto& server = servers_[s];
  if (server.phase == ServerState::Phase::up) {
    server.phase = ServerState::Phase::draining;
    queue_.set(change_slot(s), kNever);
    return drain(s);
  }
  for (const auto& [tenant, service] : server.changes.back()->services)
    tenants_[static_cast<std::size_t>(tenant)].service = service;
  server.changes.pop_back();
  server.phase = ServerState::Phase::up;
  queue_.set(change_slot(s), server.changes.empty() ? kNever : std::max(now_, server.changes.back()->at_s));
  for (const auto t : server.tenants) dispatch(t);
  settle(s);
}

// Once the last batch is done, the server is down until the change is made.
void Simulation::drain(std::size_t s) {
  auto& server = servers_[s];
  if (server.model->busy() || server.held > 0) return;
  server.phase = ServerState::Phase::down;
  queue_.set(change_slot(s), now_ + server.changes.back()->down_s);
}

void Simulation::on_warmup() {
  queue_.set(warmup_slot(), kNever);
  for (auto& server : servers_) {
    server.model->advance(now_);
    server.worked_at_warmup = server.model->worked();
  }
  for (auto& tenant : tenants_) {
    tenant.stats.clear(now_);
    if (tenant.admitted) tenant.used_at_warmup = servers_[tenant.server].model->used(tenant.place);
  }
}

void Simulation::arrive(TenantState& tenant) {
  if (tenant.waiting.size() >= kLongestQueue && tenant.spec->arrivals.kind != Arrivals::Kind::closed)
    return tenant.stats.dropped();
  tenant.waiting.push(now_);
  tenant.stats.arrived(now_);
}

void Simulation::complete(int index) {
  auto& batch = batches_[static_cast<std::size_t>(index)];
  auto& tenant = tenants_[batch.tenant];
  const int requests = static_cast<int>(batch.arrived_s.size());
  for (const double arrived : batch.arrived_s) tenant.stats.completed_request(now_ - arrived);
  tenant.stats.completed_batch(requests, now_);
  --tenant.running;
  const std::size_t t = batch.tenant;
  free_batches_.push_back(index);
  if (tenant.spec->arrivals.kind != Arrivals::Kind::closed) return;
  for (int i = tenant.source.completed(requests, now_); i > 0; --i) arrive(tenant);
  queue_.set(arrival_slot(t), tenant.source.next());
}

bool Simulation::ready(const TenantState& tenant) const {
  if (tenant.waiting.empty()) return false;
  const auto& batching = tenant.spec->batching;
  return tenant.waiting.size() >= static_cast<std::size_t>(batching.max_size) ||
         now_ >= tenant.waiting.front() + batching.max_delay_s;
}

void Simulation::begin_batch(std::size_t t) {
  auto& tenant = tenants_[t];
  if (free_batches_.empty()) {
    free_batches_.push_back(static_cast<int>(batches_.size()));
    batches_.emplace_back();
  }
  const int index = free_batches_.back();
  free_batches_.pop_back();
  auto& batch = batches_[static_cast<std::size_t>(index)];
  batch.tenant = t;
  const auto size = std::min(tenant.waiting.size(), static_cast<std::size_t>(tenant.spec->batching.max_size));
  batch.arrived_s.clear();
  for (std::size_t i = 0; i < size; ++i) batch.arrived_s.push_back(tenant.waiting.pop());
  tenant.stats.started(static_cast<int>(size), now_);
  ++tenant.running;
  auto& server = servers_[tenant.server];
  double work = tenant.service.batch_s[size - 1];
  const double slower = tenant.service.variation > 0 ? tenant.random.gamma(tenant.service.variation) : 1;
  batch.host_done_s = 0;
  if (!tenant.service.gpu_s.empty() && server.spec->sharing != Sharing::exclusive) {
    batch.host_done_s = now_ + work * slower;
    work = tenant.service.gpu_s[size - 1];
  }
  server.model->start(tenant.place, index, work * slower, now_);
}

// Starts what can start after a change of this tenant's queue or of its server.
void Simulation::dispatch(std::size_t t) {
  auto& tenant = tenants_[t];
  auto& server = servers_[tenant.server];
  if (server.phase != ServerState::Phase::up) return;
  if (server.spec->sharing == Sharing::exclusive) return dispatch_exclusive(server);
  while (tenant.running < tenant.spec->streams && ready(tenant)) begin_batch(t);
  watch_delay(t);
}

void Simulation::dispatch_exclusive(ServerState& server) {
  if (server.model->busy()) return;
  std::size_t best = tenants_.size();
  for (const auto t : server.tenants)
    if (ready(tenants_[t]) && (best == tenants_.size() || tenants_[t].waiting.front() < tenants_[best].waiting.front()))
      best = t;
  if (best < tenants_.size()) return begin_batch(best);
  for (const auto t : server.tenants) watch_delay(t);
}

// A free tenant whose batch is not full waits for the end of its delay.
void Simulation::watch_delay(std::size_t t) {
  const auto& tenant = tenants_[t];
  const double delay = tenant.spec->batching.max_delay_s;
  if (delay == 0 || tenant.spec->batching.max_size == 1) return;
  const bool watch = tenant.running < tenant.spec->streams && !tenant.waiting.empty();
  queue_.set(delay_slot(t), watch ? tenant.waiting.front() + delay : kNever);
}

void Simulation::settle(std::size_t s) {
  auto& server = servers_[s];
  server.model->settle(now_);
  if (gpus_[gpu_of_[s]].matters && server.model->busy() != server.counted_busy) meet_neighbours(s);
  queue_.set(model_slot(s), server.model->next());
}

// The server became busy or idle: it and the others of its GPU change their speed.
void Simulation::meet_neighbours(std::size_t s) {
  auto& gpu = gpus_[gpu_of_[s]];
  servers_[s].counted_busy = servers_[s].model->busy();
  gpu.busy += servers_[s].counted_busy ? 1 : -1;
  const double others = static_cast<double>(gpu.servers.size()) - 1;
  if (others == 0) return;
  for (const auto index : gpu.servers) {
    auto& server = servers_[index];
    if (server.spec->neighbour_loss == 0) continue;
    const double busy_others = gpu.busy - (server.counted_busy ? 1 : 0);
    server.model->set_speed(1 / (1 + server.spec->neighbour_loss * busy_others / others), now_);
    queue_.set(model_slot(index), server.model->next());
  }
}

// Those who share a line with an overloaded tenant wait as long as it does.
std::vector<bool> Simulation::overloaded() const {
  auto result = certainly_overloaded(scenario_, admitted_);
  for (std::size_t t = 0; t < tenants_.size(); ++t)
    if (queue_grows(*tenants_[t].spec, tenants_[t].stats)) result[t] = true;
  for (const auto& server : servers_) {
    if (server.spec->sharing != Sharing::exclusive) continue;
    if (std::ranges::any_of(server.tenants, [&](std::size_t t) { return result[t]; }))
      for (const auto t : server.tenants) result[t] = true;
  }
  return result;
}

TenantResult Simulation::result_of(TenantState& tenant, bool overloaded) const {
  TenantResult result;
  result.name = tenant.spec->name;
  if (!tenant.admitted) {
    result.admitted = false;
    if (tenant.spec->absent) return result;
    result.notes.push_back(fmt::format("not admitted: its {:g} MiB do not fit beside the others in the {:g} MiB of {}",
                                       tenant.service.memory_mib, servers_[tenant.server].spec->capacity_mib,
                                       servers_[tenant.server].spec->name));
    return result;
  }
  auto& stats = tenant.stats;
  stats.finish(now_);
  const double window = scenario_.duration_s - scenario_.warmup_s;
  const auto& latency = stats.latency();
  result.completed = latency.total();
  const double completed = static_cast<double>(result.completed);
  result.throughput_per_s = completed / window;
  result.mean_latency_s = latency.mean();
  result.p50_s = latency.quantile(0.5);
  result.p95_s = latency.quantile(0.95);
  result.p99_s = latency.quantile(0.99);
  result.max_s = latency.max();
  result.mean_queue = stats.waiting_area() / window;
  result.mean_in_system = stats.in_system_area() / window;
  if (stats.batches() > 0) result.mean_batch = completed / static_cast<double>(stats.batches());
  result.utilization = (servers_[tenant.server].model->used(tenant.place) - tenant.used_at_warmup) / window;
  result.throughput_over_time = stats.samples();
  if (tenant.spec->slo_s) {
    double late = static_cast<double>(stats.dropped_requests());
    for (std::size_t i = 0; i < tenant.waiting.size() && now_ - tenant.waiting[i] > *tenant.spec->slo_s; ++i) ++late;
    if (completed + late > 0) result.slo_met = static_cast<double>(stats.within_slo()) / (completed + late);
  }
  result.overloaded = overloaded;
  if (result.overloaded) {
    result.mean_latency_s = result.p50_s = result.p95_s = result.p99_s = result.max_s = kNever;
    result.mean_queue = result.mean_in_system = kNever;
    result.notes.push_back(
        fmt::format("overloaded: more arrives than is served ({:g} of its requests/s); the queue grows "
                    "without bound, so no latency is given",
                    result.throughput_per_s));
  } else if (result.completed == 0) {
    result.notes.push_back("no request was completed after the warm-up, so no latency is given");
  } else if (result.completed < 100) {
    result.notes.push_back(fmt::format("only {} requests: the 99th percentile is the slowest", result.completed));
  }
  return result;
}

}  // namespace

Result<SimulationResult> simulate(const Scenario& scenario) {
  TRY_VOID(check(scenario));
  return Simulation(scenario).run();
}

}  // namespace partita::study
