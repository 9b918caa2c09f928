// Running another program without a shell: hooks and the reset command.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace partita::node {

struct Command {
  std::vector<std::string> argv;                          // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> envs;  // beside this process's own
  std::string workdir;                                    // "": this process's own
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
  bool stoppable = false;  // a stop signal that waits (see signals.h) ends it: SIGTERM, and 5 s later SIGKILL
};

struct Outcome {
  std::string shown;    // the command line
  std::string failure;  // "": it exited with 0; else "exit status 3", "killed by signal 9", "interrupted by SIGINT"
  std::string output;   // the end of what it wrote, standard output and error together
};

// Runs it to its end, in a process group of its own, which is killed at the timeout, with no signals blocked.
// `not_found` or `denied` when it cannot be started. What it leaves running in the background is not waited for.
Result<Outcome> run_command(const Command& command);

// An outcome as an error of `code` with the last lines of output as details, when it is a failure.
Result<void> in_error(std::string_view what, ErrorCode code, Result<Outcome> outcome);

}  // namespace partita::node
