// partita plan --fleet FILE --demand FILE: the least plan for a fleet.
#include <chrono>

#include "base/file.h"
#include "base/text.h"
#include "catalog/embedded.h"
#include "cli/common.h"
#include "cli/draw_fleet.h"
#include "cli/run_fleet.h"
#include "fleet/demand_file.h"
#include "fleet/solve.h"

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
  if (file.services.empty() || !file.points) return {};  // services without points are refused when read
  const auto& told = *file.points;
  const auto text = TRY(table_text(told.table, path));
  const auto points = TRY(fleet::read_points(text, told.table, told.without_suspect));
  answer.choices = TRY(fleet::add_services(file, points, answer.fleet.fleet, answer.demand));
  answer.rule = told.rule;
  return {};
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

Result<void> write_files(const Parsed& parsed, FleetAnswer& answer) {
  const auto folder = parsed.text("output-dir");
  if (!folder) return {};
  std::error_code error;
  std::filesystem::create_directories(*folder, error);
  if (error) return fail(ErrorCode::unavailable, "cannot make the folder " + *folder + ": " + error.message());
  for (const auto& file : fleet::mig_parted_files(answer.fleet, answer.plan, answer.nodes)) {
    std::string name = file.name + ".yaml";
    for (auto& c : name)
      if (c == '/' || static_cast<unsigned char>(c) < ' ') c = '_';
    const auto path = std::filesystem::path(*folder) / name;
    TRY_VOID(write_file_atomically(path, layout::write_mig_parted(file.file)));
    answer.written.push_back(path.string());
  }
  return {};
}

}  // namespace

Result<int> run_plan_fleet(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto demand_path = parsed.text("demand");
  if (!demand_path) return fail(ErrorCode::invalid, "plan --fleet needs a demand file: --demand FILE");
  for (const auto* other : {"config-file", "selected-config", "mode-only"})
    if (parsed.flag(other) && !parsed.from_environment.contains(other))
      return fail(ErrorCode::invalid, "options --fleet and --" + std::string(other) + " do not go together");
  auto catalog = TRY(open_catalog(parsed));
  const auto options = TRY(solve_options(parsed));
  FleetAnswer answer;
  answer.fleet = TRY(read_fleets(parsed, catalog));
  const auto text = TRY(read_file(*demand_path));
  const auto file = TRY(fleet::read_demand(text, shown(*demand_path), answer.fleet.fleet));
  answer.demand = file.demand;
  TRY_VOID(add_services(file, *demand_path, answer));
  answer.plan = TRY(fleet::solve(answer.fleet.fleet, answer.demand, options));
  answer.nodes = fleet::spread(answer.fleet, answer.plan);
  if (parsed.flag("explain"))
    answer.explanation = TRY(fleet::explain(answer.fleet.fleet, answer.demand, answer.plan, options));
  TRY_VOID(write_files(parsed, answer));
  if (format == Format::table)
    TRY_VOID(print(draw_fleet_plan(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, to_json(answer)));
  return 0;
}

}  // namespace partita::cli
