#include <string>

#include "api/json.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_fleet.h"

namespace partita::cli {

namespace {

Result<void> check_no_fleet_options(const Parsed& parsed) {
  for (const std::string option : {"explain", "output-dir", "work", "confirm", "report", "time-limit"})
    if (parsed.flag(option))
      return fail(ErrorCode::invalid, "option --" + option + " goes with --fleet: it plans from files, not for a node");
  return {};
}

}  // namespace

Result<int> run_plan(const Parsed& parsed) {
  if (parsed.flag("fleet")) return run_plan_fleet(parsed);
  TRY_VOID(check_no_fleet_options(parsed));
  const auto format = TRY(format_of(parsed));
  auto wanted = TRY(wanted_layout(parsed, true));
  auto options = TRY(change_options(parsed));
  const auto session = TRY(open_session(parsed));
  const auto answer = TRY(session->node->plan({session->caller, std::move(wanted), std::move(options)}));
  if (format == Format::table)
    TRY_VOID(print(draw_plan(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  return 0;
}

}  // namespace partita::cli
