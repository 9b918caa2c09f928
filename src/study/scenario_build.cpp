// From the scenario of a study file to that of the simulator: predicted times in, priors of the sharing modes named.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "study/scenario_file.h"
#include "study/sharing_priors.h"
#include "study/words.h"

namespace partita::study {
namespace {

const catalog::VgpuType* vgpu_type(const Place& place) {
  if (place.vgpu.empty() || place.partition.profile) return nullptr;
  for (const auto& type : place.board->vgpu_types) {
    std::string name = type.name;
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return c == ' ' ? '_' : static_cast<char>(std::tolower(c)); });
    if (name == place.vgpu) return &type;
  }
  return nullptr;
}

Result<Server> make_server(const ServerSpec& spec, const std::vector<TenantSpec>& tenants, Context& context) {
  Server server;
  server.name = spec.name;
  server.sharing = spec.sharing;
  server.gpu = spec.gpu;
  server.quantum_s = kTimeSliceQuantumS;
  server.switch_s = kTimeSliceSwitchS;
  server.contention = kMpsContention;
  server.saturation = kMpsSaturation;
  explain_sharing(spec.sharing, context);
  for (const TenantSpec& tenant : tenants) {
    if (tenant.server != spec.name) continue;
    const int batch = tenant.batching.max_size * tenant.job.settings.batch;
    server.capacity_mib = TRY(context.predict(tenant.job, spec.place, batch)).capacity_mib;
    if (spec.place.partition.profile) {
      server.neighbour_loss =
          std::max(server.neighbour_loss, TRY(context.neighbour_loss(tenant.job, spec.place, batch)));
    }
  }
  if (spec.place.partition.profile) {
    context.rests_on(
        "a MIG instance is slowed by busy neighbours through power and clock only (neighbour_loss in "
        "data/predict/constants.yaml)");
  }
  return server;
}

Result<Service> make_service(const TenantSpec& tenant, const Place& place, Context& context,
                             std::vector<std::string>& warnings) {
  Service service = TRY(context.service(tenant.job, place, tenant.batching.max_size));
  const auto p = TRY(context.predict(tenant.job, place, tenant.batching.max_size * tenant.job.settings.batch));
  double capacity = p.capacity_mib;
  if (const auto* type = vgpu_type(place); type && type->frame_buffer) {
    capacity = static_cast<double>(in_mib(*type->frame_buffer));
    if (service.memory_mib > capacity)
      warnings.push_back(
          fmt::format("{} needs {}, its vGPU has {}", tenant.name, gibibytes(service.memory_mib), gibibytes(capacity)));
    service.memory_mib = std::max(service.memory_mib, capacity);  // a vGPU owns all of its frame buffer
  } else if (p.fit == predict::Fit::uncertain) {
    warnings.push_back(fmt::format("{} may not fit on {}: {} of {}", tenant.name, place.name,
                                   gibibytes(p.memory_mib.median), gibibytes(capacity)));
  } else if (p.fit == predict::Fit::does_not_fit) {
    warnings.push_back(fmt::format("{} does not fit on {}: {} of {}", tenant.name, place.name,
                                   gibibytes(p.memory_mib.median), gibibytes(capacity)));
  }
  return service;
}

class Changes {
 public:
  Changes(const ScenarioSpec& spec, Context& context, Built& built) : spec_(spec), context_(context), built_(built) {}

  Result<void> add() {
    for (const ChangeSpec& change : spec_.changes) {
      for (const std::string& name : change.destroyed) gone_[name] = change.at_s;
      for (const Created& created : change.created) TRY_VOID(back(created, change.at_s + change.down_s));
      context_.rests_on(
          "times to create and destroy instances: data/measured/mig_reconfig_times.csv, one after the other; without "
          "the start of a VM, a CUDA context or a model");
    }
    for (const auto& [name, since] : gone_) push({since, index(name), 1e6, {}, {}});
    std::ranges::sort(built_.scenario.reconfigurations, {}, [](const auto& r) { return std::pair(r.at_s, r.server); });
    return {};
  }

 private:
  int index(const std::string& name) const {
    return static_cast<int>(std::ranges::find(spec_.servers, name, &ServerSpec::name) - spec_.servers.begin());
  }
  void push(Reconfiguration r) { built_.scenario.reconfigurations.push_back(std::move(r)); }

  Result<void> back(const Created& created, double at_s) {
    const double since = gone_.contains(created.server) ? gone_[created.server] : 0;
    Reconfiguration r{since, index(created.server), at_s - since, {}, {}};
    for (std::size_t i = 0; i < spec_.tenants.size(); ++i) {
      const TenantSpec& tenant = spec_.tenants[i];
      if (tenant.server != created.server) continue;
      r.services.emplace_back(static_cast<int>(i), TRY(make_service(tenant, created.place, context_, built_.warnings)));
      r.capacity_mib = TRY(context_.predict(tenant.job, created.place, tenant.job.settings.batch)).capacity_mib;
    }
    push(std::move(r));
    gone_.erase(created.server);
    return {};
  }

  const ScenarioSpec& spec_;
  Context& context_;
  Built& built_;
  std::map<std::string, double> gone_;
};

}  // namespace

// A step that waits much for its host leaves a shared GPU to others: say how much, or that it does not.
Result<void> explain_host(const TenantSpec& tenant, const ServerSpec& server, Context& context) {
  constexpr double kWorthSaying = 0.2;
  if (server.sharing == Sharing::exclusive) return {};
  if (tenant.job.settings.framework == predict::Framework::eager_serial) {
    context.rests_on(fmt::format("{} waits for each kernel: its steps are taken to hold a shared GPU from start to end",
                                 tenant.job.workload));
    return {};
  }
  const int batch = tenant.job.settings.batch;
  const double idle =
      1 - TRY(context.gpu_s(tenant.job, server.place, batch)) / TRY(context.step_s(tenant.job, server.place, batch));
  if (idle > kWorthSaying) {
    context.rests_on(
        fmt::format("{} at batch {} on {}, alone, leaves the GPU idle in {} of a step, waiting for its host",
                    tenant.job.workload, batch, server.place.board->product, percent(idle)));
  }
  return {};
}

void explain_sharing(Sharing sharing, Context& context) {
  if (sharing != Sharing::exclusive) {
    context.rests_on(
        "on a shared GPU a step takes as long as its share of the GPU takes, and at least as long as alone: its host "
        "runs ahead beside it, on CPU cores of its own; waits of the host for the GPU within a step are left out, "
        "which "
        "is kind to sharing by up to one round of slices");
  }
  if (sharing == Sharing::time_slice || sharing == Sharing::vgpu_best_effort) {
    context.rests_on(
        fmt::format("time-slicing and best-effort vGPU: slices of {:.0f} ms, {:.2f} ms per switch (11 % in "
                    "data/measured/nos_sharing_comparison_a100.csv)",
                    1e3 * kTimeSliceQuantumS, 1e3 * kTimeSliceSwitchS));
  } else if (sharing == Sharing::mps) {
    context.rests_on(
        "MPS: crowding rule with exponent 2, demand from the predicted GPU times on the whole GPU and on one slice; "
        "checked against data/measured/nos_sharing_comparison_a100.csv and parvagpu_a100_80gb_inference_profiles.csv; "
        "no isolation of memory or faults");
  } else if (sharing == Sharing::vgpu_equal_share || sharing == Sharing::vgpu_fixed_share) {
    context.rests_on(
        "vGPU equal and fixed share: each VM owns its slices of time, used or not; no measurement of ours");
  }
}

Result<Built> build(const ScenarioSpec& spec, double duration_s, double warmup_s, Context& context) {
  Built built;
  Scenario& s = built.scenario;
  s.duration_s = duration_s;
  s.warmup_s = warmup_s;
  s.seed = context.seed();
  s.max_events = context.most_events();
  for (const ServerSpec& server : spec.servers) s.servers.push_back(TRY(make_server(server, spec.tenants, context)));
  for (const TenantSpec& tenant : spec.tenants) {
    const auto at = std::ranges::find(spec.servers, tenant.server, &ServerSpec::name);
    TRY_VOID(explain_host(tenant, *at, context));
    Tenant t;
    t.name = tenant.name;
    t.arrivals = tenant.arrivals;
    t.batching = tenant.batching;
    t.service = TRY(make_service(tenant, at->place, context, built.warnings));
    t.weight = tenant.weight;
    t.server = static_cast<int>(at - spec.servers.begin());
    t.slo_s = tenant.slo_s;
    t.streams = tenant.streams;
    s.tenants.push_back(std::move(t));
  }
  TRY_VOID(Changes(spec, context, built).add());
  return built;
}

}  // namespace partita::study
