// The partita command.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <vector>

#include "cli/command_line/help.h"
#include "cli/command_line/parse.h"
#include "cli/common.h"
#include "cli/verbs/run.h"
#include "cli/verbs/run_policy.h"

namespace partita::cli {
namespace {

struct Runner {
  std::string_view verb;
  Result<int> (*run)(const Parsed&);
};

constexpr Runner kRunners[] = {
    {"boards", run_boards},
    {"status", run_status},
    {"plan", run_plan},
    {"apply", run_apply},
    {"assert", run_assert},
    {"export", run_export},
    {"checkpoint", run_checkpoint},
    {"restore", run_restore},
    {"generate-config", run_generate_config},
    {"lease", run_lease},
    {"leases", run_leases},
    {"release", run_release},
    {"renew", run_renew},
    {"resize", run_resize},
    {"park", run_park},
    {"unpark", run_unpark},
    {"run", run_run},
    {"serve", run_serve},
    {"token", run_token},
    {"token create", run_token_create},
    {"token list", run_token_list},
    {"token revoke", run_token_revoke},
    {"emulate", run_emulate},
    {"emulate start", run_emulate_start},
    {"emulate stop", run_emulate_stop},
    {"emulate list", run_emulate_list},
    {"emulate types", run_emulate_types},
    {"emulate coverage", run_emulate_coverage},
    {"emulate reboot", run_emulate_reboot},
    {"emulate reset", run_emulate_reset},
    {"emulate hold", run_emulate_hold},
    {"emulate fault", run_emulate_fault},
    {"emulate lose", run_emulate_lose},
    {"emulate xid", run_emulate_xid},
    {"emulate advance", run_emulate_advance},
    {"predict", run_predict},
    {"predict fit", run_predict_fit},
    {"predict validate", run_predict_validate},
    {"study", run_study},
    {"defrag", run_defrag},
    {"policy", run_policy},
    {"policy simulate", run_policy_simulate},
    {"policy tune", run_policy_tune},
    {"doctor", run_doctor},
    {"completion", run_completion},
    {"man", run_man},
};

Result<int> run(const Parsed& parsed) {
  if (parsed.flag("help")) {
    TRY_VOID(print(parsed.verb ? verb_help(*parsed.verb, output_look(parsed)) : overview(output_look(parsed))));
    return 0;
  }
  if (parsed.flag("version")) {
    TRY_VOID(print(version_line()));
    return 0;
  }
  if (!parsed.verb)
    return fail(ErrorCode::invalid, "which verb? for example: partita status", {"partita --help lists the verbs"});
  for (const auto& runner : kRunners)
    if (runner.verb == parsed.verb->name) return runner.run(parsed);
  return fail(ErrorCode::internal, "no program for the verb " + std::string(parsed.verb->name));
}

// A file opened while one of these is closed would take its place, and messages would be written into it. Opened the
// wrong way round, so that using them still fails.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run_command(std::vector<std::string> arguments) {
  const auto parsed = parse(std::move(arguments));
  if (!parsed) return print_error(nullptr, parsed.error());
  const auto status = run(*parsed);
  return status ? *status : print_error(&*parsed, status.error());
}

}  // namespace
}  // namespace partita::cli

int main(int argc, char** argv) {
  partita::cli::fill_standard_descriptors();
  try {
    return partita::cli::run_command({argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "partita: %s [internal]\n", error.what());
    return partita::exit_status(partita::ErrorCode::internal);
  }
}
