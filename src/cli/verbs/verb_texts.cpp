// completion and man: texts made from the table of verbs.
#include "cli/command_line/help.h"
#include "cli/common.h"
#include "cli/verbs/run.h"

namespace partita::cli {

Result<int> run_completion(const Parsed& parsed) {
  const auto shell = parsed.text("SHELL").value_or("");
  if (shell == "bash")
    TRY_VOID(print(bash_completion()));
  else if (shell == "zsh")
    TRY_VOID(print(zsh_completion()));
  else if (shell == "fish")
    TRY_VOID(print(fish_completion()));
  else
    return fail(ErrorCode::invalid, "completion: expected bash, zsh or fish, found \"" + shell + "\"");
  return 0;
}

Result<int> run_man(const Parsed& parsed) {
  TRY_VOID(print(parsed.flag("markdown") ? markdown_manual() : roff_manual()));
  return 0;
}

}  // namespace partita::cli
