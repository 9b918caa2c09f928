#include "api/json.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/verbs/run.h"

namespace partita::cli {

Result<int> run_assert(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  auto wanted = TRY(wanted_layout(parsed, false));
  if (parsed.flag("valid-config")) {
    TRY_VOID(format == Format::table ? print("the file is valid and has the label\n")
                                     : print_json(format, api::to_json(api::AssertAnswer{})));
    return 0;
  }
  auto options = TRY(change_options(parsed));
  const auto session = TRY(open_session(parsed));
  const auto answer = TRY(session->node->check({session->caller, std::move(wanted), std::move(options)}));
  if (format == Format::table)
    TRY_VOID(print(draw_differences(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  return answer.differences.empty() ? 0 : exit_status(ErrorCode::differs);
}

}  // namespace partita::cli
