// Starting a program that is confined before it executes: forked, stopped, confined by the caller, then started.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace partita::deliver {

struct Program {
  std::vector<std::string> argv;                          // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> envs;  // beside this process's own
};

class StoppedProgram {
 public:
  // A child that waits before exec. `not_found` or `denied` come from go().
  static Result<StoppedProgram> start(const Program& program);
  pid_t pid() const { return pid_; }
  Result<void> go();
  // Ends with the program's own status, or 128 + signal. SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process are passed
  // on meanwhile.
  Result<int> wait();

  StoppedProgram(StoppedProgram&& other) noexcept;
  StoppedProgram& operator=(StoppedProgram&&) = delete;
  ~StoppedProgram();  // a child that was never started is ended

 private:
  StoppedProgram(pid_t pid, int start_pipe, int error_pipe);
  pid_t pid_ = 0;
  int start_pipe_ = -1, error_pipe_ = -1;
};

}  // namespace partita::deliver
