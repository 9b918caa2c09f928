// partita plan --fleet FILE --demand FILE: the least plan for a fleet.
#include <fmt/format.h>

#include <chrono>

#include "base/file.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "cli/common.h"
#include "cli/draw/draw_fleet.h"
#include "cli/draw/progress.h"
#include "cli/draw/report_file.h"
#include "cli/verbs/fleet_confirm.h"
#include "cli/verbs/fleet_files.h"
#include "cli/verbs/fleet_predict.h"
#include "cli/verbs/run_fleet.h"
#include "fleet/exact/solve.h"
#include "fleet/files/demand_file.h"

namespace partita::cli {
namespace {

std::string shown(const std::string& file) { return file == "-" ? "standard input" : file; }

Result<fleet::FleetFile> read_fleets(const Parsed& parsed, catalog::Catalog& catalog) {
  fleet::FleetFile out;
  for (const auto& path : parsed.all("fleet")) {
    const auto text = TRY(read_file(path));
    TRY_VOID(fleet::read_fleet(text, shown(path), catalog, out));
  }
  return out;
}

// A table that the program carries, or a file beside the demand.
Result<std::string> table_text(const std::string& name, const std::filesystem::path& demand) {
  const auto embedded = name.find('/') == std::string::npos ? catalog::embedded_file("measured/" + name) : std::nullopt;
  const auto beside = demand.parent_path() / name;
  std::error_code ignored;
  if (embedded && !std::filesystem::exists(beside, ignored)) return std::string(*embedded);
  return TRY(read_file(beside));
}

Result<void> add_services(const fleet::DemandFile& file, const std::string& path, FleetAnswer& answer) {
  if (file.services.empty() || !file.points) return {};
  const auto& told = *file.points;
  std::vector<fleet::ServicePoint> points;
  if (told.table.empty()) {
    points = TRY(predicted_points(file, answer.fleet.fleet));
    answer.predicted = true;
  } else {
    const auto text = TRY(table_text(told.table, path));
    points = TRY(fleet::read_points(text, told.table, told.without_suspect));
    answer.points_table = told.table;
  }
  answer.choices = TRY(fleet::add_services(file, points, answer.fleet.fleet, answer.demand));
  answer.services = file.services;
  answer.rule = told.rule;
  return {};
}

// Jobs and timed leases, on what the steady plan leaves; leases first.
Result<void> add_timed(fleet::DemandFile& file, const fleet::SolveOptions& options, Progress* explain,
                       FleetAnswer& answer) {
  if (file.batch.jobs.empty() && file.leases.empty()) return {};
  const auto& fleet = answer.fleet.fleet;
  const std::string name = "mig_reconfig_times.csv";
  const auto table = TRY(table_text(name, ""));
  const auto times = TRY(fleet::reconfigure_times(table, name, fleet, file.batch, answer.assumed_times));
  auto room = fleet::room_beside(fleet, answer.steady ? &answer.plan : nullptr);
  if (!file.leases.empty()) {
    answer.leases = TRY(fleet::plan_timed_leases(room, file.leases, times));
    if (explain)
      answer.lease_margins = TRY(fleet::explain_leases(room, file.leases, times, *answer.leases, options.limits.stop));
    room = fleet::room_beside(std::move(room), answer.leases->calendar);
  }
  if (file.batch.jobs.empty()) return {};
  TRY_VOID(predict_jobs(file.batch, fleet));
  answer.batch = TRY(fleet::plan_batch(room, file.batch, times, {.stop = options.limits.stop}));
  if (explain) explain->step(1, 2, "schedules with one GPU less and one more");
  if (explain) answer.batch_margin = TRY(fleet::explain_batch(*answer.batch, {.stop = options.limits.stop}));
  return {};
}

// Only the rule queueing promises a latency.
Result<void> confirm(const Parsed& parsed, FleetAnswer& answer) {
  constexpr int kRuns = 100;
  const auto runs = TRY(parsed.number("confirm", 0, 100'000));
  const bool promised = answer.rule && answer.rule->kind == fleet::ServiceRule::Kind::queueing;
  if (runs && !promised)
    return fail(ErrorCode::invalid,
                "option --confirm needs services with the rule queueing: nothing else promises a latency");
  return promised && runs.value_or(kRuns) > 0 ? confirm_services(runs.value_or(kRuns), answer) : Result<void>{};
}

Result<fleet::SolveOptions> solve_options(const Parsed& parsed) {
  fleet::SolveOptions out;
  if (const auto work = TRY(parsed.number("work", 1, 100'000'000))) out.limits.nodes = *work;
  if (const auto seconds = TRY(parsed.real("time-limit", 0, 1e6))) {
    using Clock = std::chrono::steady_clock;
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
    out.limits.stop = [end] { return Clock::now() >= end; };
  }
  return out;
}

Result<fleet::Explanation> explained(const FleetAnswer& answer, const fleet::SolveOptions& options,
                                     Progress& progress) {
  const auto tell = [&](int done, int total, const std::string& what) {
    progress.step(done, total, "explaining " + what);
  };
  return fleet::explain(answer.fleet.fleet, answer.demand, answer.plan, options, tell);
}

// What `plan` has for nodes that are there, typed: a variable may be meant for another command.
Result<void> check_together(const Parsed& parsed) {
  for (const auto* other : {"config-file", "selected-config", "mode-only", "skip-reset", "hooks-file", "adopt", "force",
                            "emulate", "server"})
    if (parsed.flag(other) && !parsed.from_environment.contains(other))
      return fail(ErrorCode::invalid, "options --fleet and --" + std::string(other) + " do not go together");
  return {};
}

// Jobs and timed leases have no layouts that stay, and are searched by steps.
Result<void> check_has_layouts(const Parsed& parsed, const fleet::DemandFile& file) {
  for (const auto* option : {"output-dir", "work"})
    if (parsed.flag(option) && !file.steady())
      return fail(ErrorCode::invalid, fmt::format("option --{} is for counts and services, and the demand has none: "
                                                  "jobs and leases are in the plan that is printed and in --report",
                                                  option));
  return {};
}

// Which GPUs timed leases and jobs run on, and where MIG mode must be turned on.
void name_gpus(FleetAnswer& answer) {
  std::vector<int> kinds;
  if (answer.leases)
    for (const auto& gpu : answer.leases->calendar.gpus) kinds.push_back(gpu.kind);
  if (answer.batch)
    for (const auto& gpu : answer.batch->schedule.gpus) kinds.push_back(gpu.kind);
  answer.timed = fleet::timed_gpus(answer.fleet, answer.nodes, kinds);
  answer.turn_on = fleet::mig_to_turn_on(answer.fleet, answer.plan, answer.nodes, answer.timed);
}

// As it was typed, for the page.
std::string command_of(const Parsed& parsed) {
  const auto out = "partita plan" + as_typed(parsed, {"fleet", "demand", "work", "time-limit", "confirm"});
  return parsed.flag("explain") ? out + " --explain" : out;
}

Result<void> write_files(const Parsed& parsed, FleetAnswer& answer) {
  OutputFiles files{parsed.text("output-dir"), {}};
  if (files.folder)
    for (const auto& file : fleet::mig_parted_files(answer.fleet, answer.plan, answer.nodes))
      files.files.push_back(
          {std::filesystem::path(*files.folder) / mig_parted_name(file.name), layout::write_mig_parted(file.file)});
  if (const auto path = parsed.text("report"))
    files.files.push_back({*path, written({fleet_report(answer, command_of(parsed))},
                                          format_by_name(*path).value_or(ReportFormat::html), "")});
  TRY_VOID(write_together(files));
  for (const auto& file : files.files) answer.written.push_back(file.path.string());
  return {};
}

// Files stay where the plan cannot be printed; the error names them.
Result<void> print_answer(const Parsed& parsed, Format format, const FleetAnswer& answer) {
  std::optional<WithoutPipeSignal> without_signal;
  if (!answer.written.empty()) without_signal.emplace();
  auto printed = format == Format::table ? print(draw_fleet_plan(output_look(parsed), answer))
                                         : print_json(format, to_json(answer));
  if (!printed)
    for (const auto& path : answer.written) printed.error().details.push_back("wrote " + path);
  return printed;
}

}  // namespace

Result<int> run_plan_fleet(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto demand_path = parsed.text("demand");
  if (!demand_path) return fail(ErrorCode::invalid, "plan --fleet needs a demand file: --demand FILE");
  TRY_VOID(check_together(parsed));
  auto catalog = TRY(open_catalog(parsed));
  const auto options = TRY(solve_options(parsed));
  DrawnProgress drawn(look_of(2, parsed.flag("no-color")), DrawnProgress::Steps::drawn);
  LateProgress progress(drawn);
  FleetAnswer answer;
  answer.fleet = TRY(read_fleets(parsed, catalog));
  TRY_VOID(check_targets(parsed, answer.fleet));
  const auto text = TRY(read_file(*demand_path));
  auto file = TRY(fleet::read_demand(text, shown(*demand_path), answer.fleet.fleet));
  TRY_VOID(check_has_layouts(parsed, file));
  answer.demand = file.demand;
  TRY_VOID(add_services(file, *demand_path, answer));
  answer.steady = file.steady();
  if (answer.steady) {
    answer.plan = TRY(fleet::solve(answer.fleet.fleet, answer.demand, options));
    answer.nodes = fleet::spread(answer.fleet, answer.plan);
  }
  TRY_VOID(confirm(parsed, answer));
  const bool explain = parsed.flag("explain");
  TRY_VOID(add_timed(file, options, explain ? &progress : nullptr, answer));
  if (answer.steady && explain) answer.explanation = TRY(explained(answer, options, progress));
  drawn.clear();
  name_gpus(answer);
  TRY_VOID(write_files(parsed, answer));
  TRY_VOID(print_answer(parsed, format, answer));
  return 0;
}

}  // namespace partita::cli
