#include <algorithm>

#include "api/json.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

// A node that cannot be opened is what a doctor is asked about: a finding, not an error.
Result<api::DoctorAnswer> examine(const Parsed& parsed) {
  const auto session = open_session(parsed);
  if (session) return (*session)->node->doctor();
  const auto& error = session.error();
  if (error.code != ErrorCode::unavailable && error.code != ErrorCode::denied) return std::unexpected(error);
  const auto what = error.code == ErrorCode::denied ? "permissions" : "driver";
  return api::DoctorAnswer{{{api::Finding::Level::problem, what, error.message, join(error.details, "; ")}}};
}

}  // namespace

Result<int> run_doctor(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto answer = TRY(examine(parsed));
  if (format == Format::table)
    TRY_VOID(print(draw_findings(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  const bool problem = std::ranges::any_of(
      answer.findings, [](const auto& finding) { return finding.level == api::Finding::Level::problem; });
  return problem ? exit_status(ErrorCode::differs) : 0;
}

}  // namespace partita::cli
