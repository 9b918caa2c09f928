// Scenarios of a study file: servers, tenants and changes of layout, checked against the board's geometry and turned
// into what the simulator takes. Internal to study/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/context.h"
#include "study/simulator.h"

namespace partita::study {

constexpr int kMostAlike = 1000;  // servers or tenants of one "count"

struct TenantSpec {
  std::string name;
  Job job;
  Arrivals arrivals;
  Batching batching;
  std::optional<double> slo_s;
  double weight = 1;
  int streams = 1;
  std::string server;  // "" = by order
};

struct ServerSpec {
  std::string name;
  Place place;
  Sharing sharing = Sharing::exclusive;
  int gpu = 0;
};

struct Created {
  std::string server;  // the name it has from then on
  Place place;
};

// Servers destroyed and created at once; those created under a destroyed one's name keep its tenants.
struct ChangeSpec {
  double at_s = 0;
  std::vector<std::string> destroyed;
  std::vector<Created> created;
  double down_s = 0;  // all destroys and creates, one after the other
};

struct ScenarioSpec {
  std::string name, note;
  std::vector<ServerSpec> servers;
  std::vector<TenantSpec> tenants;
  std::vector<ChangeSpec> changes;
};

// {poisson: RATE}, {closed: {clients, think_s}}, {on_off: {rate, on_s, off_s}}, {every: {ms, from_s, to_s}},
// {trace: [times]} or {none: true}. Rates are requests per second.
Result<Arrivals> read_arrivals(const Fields& fields);
Result<TenantSpec> read_tenant(const Fields& fields, Context& context);
Result<Sharing> read_sharing(const Fields& fields, std::string_view key);
std::string_view name(Sharing sharing);  // "time-slicing"

// `tenants`: those of scenarios that name none. The layout and each change are placed on the board: `impossible` or
// `no_space` say why one is not legal.
Result<ScenarioSpec> read_scenario(const Fields& fields, const std::string& board,
                                   const std::vector<TenantSpec>& tenants, Context& context);

struct Built {
  Scenario scenario;
  std::vector<std::string> warnings;  // tenants that may not fit, and the like
};
Result<Built> build(const ScenarioSpec& spec, double duration_s, double warmup_s, Context& context);

Result<void> explain_host(const TenantSpec& tenant, const ServerSpec& server, Context& context);
// What the modes of a scenario rest on, added to the report's list.
void explain_sharing(Sharing sharing, Context& context);

// Do these profiles fit together on one empty GPU of the board? The error says why not.
Result<void> check_layout(const catalog::Board& board, const std::vector<int>& profiles);

// Seconds to destroy and create a GPU instance with its compute instance, from data/measured/mig_reconfig_times.csv;
// `invalid` for boards and sizes without measurements.
struct ReconfigureTimes {
  double create_s = 0, destroy_s = 0;
};
Result<ReconfigureTimes> reconfigure_times(const catalog::Board& board, int profile);

}  // namespace partita::study
