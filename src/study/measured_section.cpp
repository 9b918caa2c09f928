#include "study/measured_section.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "study/words.h"

namespace partita::study {
namespace {

// What a tenant of the scenario asks of the provider, and what its command finds in its environment.
MeasuredTenant measured_tenant(const ScenarioSpec& spec, const TenantSpec& tenant) {
  const auto& server = *std::ranges::find(spec.servers, tenant.server, &ServerSpec::name);
  const auto& partition = server.place.partition;
  return {tenant.name,
          {tenant.name, server.place.board->id, partition.profile ? predict::partition_name(partition) : "",
           std::string(name(server.sharing))},
          {{"PARTITA_TENANT", tenant.name},
           {"PARTITA_WORKLOAD", tenant.job.workload},
           {"PARTITA_MODE", tenant.job.settings.mode == predict::Mode::training ? "training" : "inference"},
           {"PARTITA_BATCH", std::to_string(tenant.job.settings.batch)}}};
}

std::string ran_on(const MeasuredResult& m) {
  if (m.partition.empty()) return "–";
  return m.device ? fmt::format("{} ({})", m.partition, *m.device) : m.partition;
}

double rate_of(const ScenarioSpec& spec, const SimulationResult& simulated, std::size_t tenant) {
  return simulated.tenants[tenant].throughput_per_s * spec.tenants[tenant].job.settings.batch;
}

report::Table measured_table(const ScenarioSpec& spec, const SimulationResult& simulated,
                             const std::vector<MeasuredResult>& measured) {
  using report::Kind;
  report::Table t;
  t.title = spec.name + ": measured beside simulated";
  t.columns = {"tenant",        "ran on", "measured (samples/s)", "simulated (samples/s)", "measured p99",
               "simulated p99", "remark"};
  t.kinds = {Kind::input,    Kind::input,     Kind::measured, Kind::simulated,
             Kind::measured, Kind::simulated, Kind::measured};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredResult& m = measured[i];
    t.rows.push_back({m.name, ran_on(m), m.seconds > 0 ? figure_of(m.samples_per_s()) : "–",
                      figure_of(rate_of(spec, simulated, i)), m.p99_ms ? milliseconds(*m.p99_ms / 1e3) : "–",
                      milliseconds(simulated.tenants[i].p99_s), m.problem.value_or("")});
  }
  return t;
}

report::Figure measured_bars(const ScenarioSpec& spec, const SimulationResult& simulated,
                             const std::vector<MeasuredResult>& measured, const std::string& where) {
  report::Figure f;
  f.title = spec.name + ": measured beside simulated";
  f.x_title = "tenant";
  f.y_title = "throughput (samples/s)";
  f.log_y = true;
  f.note = fmt::format("Measured on {}.", where);
  report::Series real{"run here", report::Kind::measured, {}}, from_model{"model", report::Kind::simulated, {}};
  const auto bar = [](double value) {
    return value > 0 ? std::optional<report::Value>({value, {}, {}}) : std::nullopt;
  };
  for (std::size_t i = 0; i < measured.size(); ++i) {
    f.x.push_back(measured[i].name);
    real.values.push_back(bar(measured[i].samples_per_s()));
    from_model.values.push_back(bar(rate_of(spec, simulated, i)));
  }
  f.series = {std::move(real), std::move(from_model)};
  return f;
}

// The provider's label, and on what the commands say they ran: "plain processes ... (CPU, 2 threads: not a GPU)".
std::string where_measured(const std::string& label, const std::vector<MeasuredResult>& measured) {
  std::vector<std::string> devices;
  for (const MeasuredResult& m : measured)
    if (m.device && std::ranges::find(devices, *m.device) == devices.end()) devices.push_back(*m.device);
  if (devices.empty()) return label;
  const bool no_gpu = std::ranges::all_of(devices, [](const std::string& d) { return d.starts_with("CPU"); });
  const bool said = label.find("GPU") != std::string::npos;
  return fmt::format("{} ({}{})", label, join(devices, "; "), no_gpu && !said ? ": not a GPU" : "");
}

}  // namespace

Result<void> measure_scenario(const ScenarioSpec& spec, const SimulationResult& simulated,
                              const MeasureOptions& options, Context& context, report::Report& report,
                              report::Section& section) {
  if (!spec.changes.empty()) {
    section.paragraphs.emplace_back("Not measured: changes of layout are simulated only.");
    return {};
  }
  std::vector<MeasuredTenant> tenants;
  for (const TenantSpec& tenant : spec.tenants) tenants.push_back(measured_tenant(spec, tenant));
  const auto measured = TRY(measure(tenants, options, context.progress()));
  const auto where = where_measured(options.provider->label(), measured);
  section.parts.emplace_back(measured_table(spec, simulated, measured));
  const auto untroubled = std::ranges::count_if(measured, [](const MeasuredResult& m) { return !m.problem; });
  if (std::ranges::any_of(measured, [](const MeasuredResult& m) { return m.samples_per_s() > 0; }))
    section.parts.emplace_back(measured_bars(spec, simulated, measured, where));
  std::string troubles;
  for (const MeasuredResult& m : measured)
    if (m.problem && troubles.size() < 300)
      troubles += fmt::format("{}{}: {}", troubles.empty() ? ": " : "; ", m.name, *m.problem);
  report.answer.push_back(fmt::format("{}: measured for {} s on {}; {} of {} tenants ran without trouble{}.", spec.name,
                                      figure_of(options.seconds), where, untroubled, measured.size(), troubles));
  context.rests_on(fmt::format("measured figures are of {}", where));
  return {};
}

}  // namespace partita::study
