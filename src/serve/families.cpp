#include "serve/families.h"

#include <algorithm>
#include <array>

namespace partita::serve {
namespace {

using Label = prometheus::ClientMetric::Label;
using Labels = std::vector<Label>;
using prometheus::MetricFamily;

constexpr int kWholeGpu = -1;

const api::Lease* holder_at(const Holders& holders, const std::string& gpu, int instance) {
  const auto found = holders.find({gpu, instance});
  return found == holders.end() ? nullptr : found->second;
}

// The names that DCGM's exporter uses, and then our own.
Labels gpu_labels(const layout::Gpu& gpu, const api::Lease* lease) {
  Labels out{{"gpu", std::to_string(gpu.index)}, {"UUID", gpu.uuid}};
  out.push_back({"lease", lease ? lease->name : ""});
  out.push_back({"holder", lease ? lease->holder.user : ""});
  return out;
}

const catalog::Profile* profile_of(const layout::Gpu& gpu, const layout::GpuInstance& instance) {
  const auto at = static_cast<std::size_t>(instance.profile);
  return gpu.board && instance.profile >= 0 && at < gpu.board->profiles.size() ? &gpu.board->profiles[at] : nullptr;
}

// A GPU instance id comes again when its place is cut again; the lease's number does not.
Labels instance_labels(const layout::Gpu& gpu, const layout::GpuInstance& instance, const api::Lease* lease) {
  const auto* profile = profile_of(gpu, instance);
  std::string devices;
  for (const auto& compute : instance.compute) devices += (devices.empty() ? "" : ",") + compute.uuid;
  Labels out = gpu_labels(gpu, lease);
  out.push_back({"GPU_I_ID", std::to_string(instance.id)});
  out.push_back({"GPU_I_PROFILE", profile ? profile->name : ""});
  out.push_back({"mig_uuid", devices});
  out.push_back({"lease_id", lease ? std::to_string(lease->id) : ""});
  return out;
}

struct Used {
  int processes = 0;
  std::uint64_t bytes = 0;
  bool bytes_known = true;
};

Used used_by(const layout::Gpu& gpu, int instance) {
  Used out;
  for (const auto& process : gpu.processes) {
    if (process.gpu_instance != instance) continue;
    ++out.processes;
    out.bytes_known = out.bytes_known && process.memory.has_value();
    if (process.memory) out.bytes += process.memory->value;
  }
  return out;
}

void add_if(MetricFamily& family, const std::optional<double>& value, const Labels& labels) {
  if (value) add_gauge(family, *value, labels);
}

template <class T>
std::optional<double> number(const std::optional<T>& value, double factor = 1) {
  if (!value) return std::nullopt;
  if constexpr (std::is_same_v<T, Bytes>)
    return static_cast<double>(value->value) * factor;
  else
    return static_cast<double>(*value) * factor;
}

MetricFamily histogram(std::string name, std::string help, const api::Durations& durations) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = prometheus::MetricType::Histogram;
  prometheus::ClientMetric metric;
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < durations.counts.size(); ++i) {
    so_far += durations.counts[i];
    const double bound = i < api::Durations::kBoundsSeconds.size() ? api::Durations::kBoundsSeconds[i]
                                                                   : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({so_far, bound});
  }
  metric.histogram.sample_count = so_far;
  metric.histogram.sample_sum = durations.total_seconds;
  family.metric.push_back(std::move(metric));
  return family;
}

}  // namespace

MetricFamily gauge_family(std::string name, std::string help) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = prometheus::MetricType::Gauge;
  return family;
}

void add_gauge(MetricFamily& family, double value, Labels labels) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

Holders holders_of(const std::vector<api::Lease>& leases) {
  Holders out;
  for (const auto& lease : leases) {
    if (!lease.grant) continue;
    for (const auto& device : lease.grant->devices) out[{device.gpu, device.gpu_instance.value_or(kWholeGpu)}] = &lease;
  }
  return out;
}

Families gpu_families(const api::StatusAnswer& status, const Holders& holders) {
  constexpr double kPercent = 0.01;
  auto utilization = gauge_family("partita_gpu_utilization_ratio",
                                  "Part of the time in which the GPU worked, as its driver tells (not with MIG on).");
  auto memory = gauge_family("partita_gpu_memory_bytes", "Memory of the GPU.");
  auto used = gauge_family("partita_gpu_memory_used_bytes", "Memory of the GPU that is in use.");
  auto mig = gauge_family("partita_gpu_mig_enabled", "Whether MIG mode is on: 1 or 0.");
  auto sms = gauge_family("partita_gpu_sms", "Streaming multiprocessors of the whole GPU.");
  auto fault = gauge_family("partita_gpu_faulty", "Whether the GPU is lost or needs a reset: 1 or 0.");
  for (const auto& gpu : status.state.gpus) {
    const auto labels = gpu_labels(gpu, holder_at(holders, gpu.uuid, kWholeGpu));
    add_gauge(fault, gpu.fault ? 1 : 0, labels);
    if (gpu.fault) continue;
    add_if(utilization, number(gpu.utilization_percent, kPercent), labels);
    if (gpu.total_memory.value > 0) add_gauge(memory, static_cast<double>(gpu.total_memory.value), labels);
    add_if(used, number(gpu.used_memory), labels);
    if (gpu.mode) add_gauge(mig, gpu.mode->current ? 1 : 0, labels);
    if (gpu.board) add_if(sms, number(gpu.board->specs.sm_count), labels);
  }
  return {utilization, memory, used, mig, sms, fault};
}

Families instance_families(const api::StatusAnswer& status, const Holders& holders) {
  auto memory = gauge_family("partita_mig_memory_bytes", "Memory of the GPU instance.");
  auto used = gauge_family("partita_mig_memory_used_bytes", "Memory that processes use on the GPU instance.");
  auto sms = gauge_family("partita_mig_sms", "Streaming multiprocessors of the GPU instance.");
  auto share =
      gauge_family("partita_mig_sm_share_ratio",
                   "Streaming multiprocessors of the GPU instance, as a part of all of the whole GPU: what the "
                   "activity of the instance is to be multiplied by to be activity of the GPU.");
  auto processes = gauge_family("partita_mig_processes", "Processes on the GPU instance.");
  for (const auto& gpu : status.state.gpus)
    for (const auto& instance : gpu.instances) {
      const auto* profile = profile_of(gpu, instance);
      const auto labels = instance_labels(gpu, instance, holder_at(holders, gpu.uuid, instance.id));
      const Used now = used_by(gpu, instance.id);
      add_gauge(processes, now.processes, labels);
      if (now.bytes_known) add_gauge(used, static_cast<double>(now.bytes), labels);
      if (!profile) continue;
      add_if(memory, number(profile->memory), labels);
      add_if(sms, number(profile->sm), labels);
      const auto whole = gpu.board->specs.sm_count;
      if (profile->sm && whole && *whole > 0) add_gauge(share, static_cast<double>(*profile->sm) / *whole, labels);
    }
  return {memory, used, sms, share, processes};
}

Families lease_families(const std::vector<api::Lease>& leases, Time now) {
  using State = api::LeaseState;
  auto states = gauge_family("partita_leases", "Leases that live, by state.");
  for (const State state :
       {State::waiting, State::cutting, State::granting, State::active, State::parked, State::releasing}) {
    const auto count = std::ranges::count(leases, state, &api::Lease::state);
    add_gauge(states, static_cast<double>(count), {{"state", std::string(api::to_string(state))}});
  }
  std::size_t waiting = 0;
  std::chrono::duration<double> longest{0};
  for (const auto& lease : leases) {
    if (lease.state != State::waiting) continue;
    ++waiting;
    longest = std::max(longest, std::chrono::duration<double>(now - lease.asked));
  }
  auto length = gauge_family("partita_queue_length", "Leases that wait in the queue.");
  add_gauge(length, static_cast<double>(waiting));
  auto oldest = gauge_family("partita_queue_oldest_wait_seconds", "How long the oldest of them has waited.");
  add_gauge(oldest, longest.count());
  return {states, length, oldest};
}

Families measure_families(const api::Measures& measures) {
  return {
      histogram("partita_cut_duration_seconds", "Making one GPU instance.", measures.cut),
      histogram("partita_destroy_duration_seconds", "Removing one GPU instance.", measures.destroy),
      histogram("partita_queue_wait_seconds", "Of leases that were granted: from asked to granted.", measures.wait)};
}

}  // namespace partita::serve
