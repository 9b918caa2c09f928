#include <algorithm>

#include "api/json.h"
#include "cli/common.h"
#include "cli/draw.h"
#include "cli/run.h"

namespace partita::cli {

Result<int> run_doctor(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  const auto answer = TRY(session->node->doctor());
  if (format == Format::table)
    TRY_VOID(print(draw_findings(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  const bool problem = std::ranges::any_of(
      answer.findings, [](const auto& finding) { return finding.level == api::Finding::Level::problem; });
  return problem ? exit_status(ErrorCode::differs) : 0;
}

}  // namespace partita::cli
