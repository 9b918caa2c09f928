// Fleet plans for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/draw/terminal.h"
#include "fleet/exact/explain.h"
#include "fleet/files/fleet_file.h"
#include "fleet/files/nodes.h"
#include "fleet/schedule/batch_plan.h"
#include "fleet/schedule/explain_timed.h"
#include "fleet/services/services.h"
#include "report/report.h"
#include "study/confirm.h"

namespace partita::cli {

struct FleetAnswer {
  fleet::FleetFile fleet;
  fleet::Demand demand;
  bool steady = true;  // something is demanded that has no times; else there is no plan
  fleet::Plan plan;
  // Per want of services, which come last in the demand: what each size of instance does.
  std::vector<std::vector<fleet::ServiceChoice>> choices;
  std::vector<fleet::Service> services;  // parallel to it
  std::optional<fleet::ServiceRule> rule;
  bool predicted = false;                   // the services' points
  std::string points_table;                 // that they are read from; empty: predicted
  std::vector<study::Confirmed> confirmed;  // per service, where it was asked for
  std::optional<fleet::LeasePlan> leases;
  std::optional<fleet::BatchPlan> batch;
  std::vector<std::string> assumed_times;  // boards whose times of reconfiguration are those of others
  std::vector<fleet::NodeLayout> nodes;
  std::vector<fleet::TimedGpu> timed;  // of leases, then of jobs
  std::vector<fleet::MigOff> turn_on;  // of live nodes
  std::optional<fleet::Explanation> explanation;
  std::vector<fleet::LeaseMargin> lease_margins;  // where an explanation was asked for
  std::optional<fleet::BatchMargin> batch_margin;
  std::vector<std::string> written;  // files
};

std::string draw_fleet_plan(const Look& look, const FleetAnswer& answer);
std::string to_json(const FleetAnswer& answer);

// The parts with times: tables, and GPUs drawn over time.
std::string draw_leases(const Look& look, const FleetAnswer& answer);
std::string draw_batch(const Look& look, const FleetAnswer& answer);
// What binds, and what a little more or less would change; empty where it was not asked for.
std::string draw_explanation(const Look& look, const FleetAnswer& answer);
std::string draw_timed_explanation(const Look& look, const FleetAnswer& answer);
// The same as a page: timelines of the GPUs, one row per instance.
report::Report fleet_report(const FleetAnswer& answer, const std::string& command);

// What leases (first), then jobs run on: "rva 4" of a live node, else a number. The same with "GPU" in it.
std::string timed_gpu(const FleetAnswer& answer, std::size_t number);
std::string timed_gpu_title(const FleetAnswer& answer, std::size_t number);
std::size_t first_of_jobs(const FleetAnswer& answer);  // its number
// GPUs in use by all parts of the plan.
struct GpusInAll {
  std::int64_t steady = 0, leases = 0, jobs = 0;  // of leases and jobs those that are not in use otherwise
  double cost = 0;                                // of all of them
  std::int64_t sum() const { return steady + leases + jobs; }
};
GpusInAll gpus_in_all(const FleetAnswer& answer);
// ", cost 5.6: 7 for counts, 1 more for leases", behind their number; `steady`: what the part without times is called.
// Empty where the plan has one part alone.
std::string parts_in_all(const FleetAnswer& answer, const GpusInAll& gpus, std::string_view steady);

// "MIG mode is off and must be turned on first: rva GPU 2, 3"; empty where there is none. Names are as the files have
// them.
std::string turn_on_words(const FleetAnswer& answer);
// The services' times name no board: they are taken for each.
bool times_for_every_board(const FleetAnswer& answer);
// The promise for a service: met in at least 99 % of the runs.
bool is_kept(const study::Confirmed& promise);

// Of the fleet.
const fleet::Kind& kind_of(const FleetAnswer& answer, int kind);
// Of GPUs of the room's kind.
const catalog::Profile& profile_of(const fleet::Room& room, int kind, int profile);

// How many instances serve a want, and how much of it, per board and profile.
struct Served {
  int kind = 0;  // one of the board's
  int profile = 0;
  std::int64_t instances = 0;
  double amount = 0;
};
std::vector<Served> served(const FleetAnswer& answer, std::size_t want);
// The choice behind instances of a service; nullptr for counts.
const fleet::ServiceChoice* choice_behind(const FleetAnswer& answer, std::size_t want, const Served& by);

}  // namespace partita::cli
