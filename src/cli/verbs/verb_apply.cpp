// apply and restore: the same change, from a layout or from a checkpoint.
#include <unistd.h>

#include "api/json.h"
#include "base/file.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/draw/progress.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

Result<api::ApplyAnswer> change_node(const Parsed& parsed, Format format, api::Wanted wanted) {
  auto options = TRY(change_options(parsed));
  const auto session = TRY(open_session(parsed));
  using Steps = DrawnProgress::Steps;
  const auto steps = parsed.flag("debug") ? Steps::all : format == Format::table ? Steps::drawn : Steps::none;
  DrawnProgress progress(look_of(STDERR_FILENO, parsed.flag("no-color")), steps);
  return session->node->apply({session->caller, std::move(wanted), std::move(options)}, progress);
}

Result<int> apply_wanted(const Parsed& parsed, Format format, api::Wanted wanted) {
  const auto answer = TRY(change_node(parsed, format, std::move(wanted)));
  if (format == Format::table)
    TRY_VOID(print(draw_apply(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  return 0;
}

}  // namespace

Result<int> run_apply(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  return apply_wanted(parsed, format, TRY(wanted_layout(parsed, true)));
}

Result<int> run_restore(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto path = parsed.text("checkpoint-file");
  if (!path) return fail(ErrorCode::invalid, "restore needs a checkpoint: -f FILE");
  return apply_wanted(parsed, format,
                      api::CheckpointRequest{TRY(read_file(*path)), *path == "-" ? "standard input" : *path});
}

}  // namespace partita::cli
