// Starting a program that is confined before it executes: forked, stopped, confined by the caller, then started.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "deliver/descriptor.h"

namespace partita::deliver {

struct Program {
  std::vector<std::string> argv;                          // argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> envs;  // beside this process's own
};

// For programs with one thread (the command): the signals that wait() passes on are blocked in the calling thread while
// this object lives, so that what a Ctrl-C leaves to be done (the release) is done before it ends. The child stays in
// the process group and session of its parent, so an interactive program has the terminal, and job control of the shell
// holds for both.
class StoppedProgram {
 public:
  // A child that waits before exec; it ends when this process does. Once started, it gets SIGTERM when this process
  // ends before it (it has no right to its partition then; the lease's group sees to its children).
  static Result<StoppedProgram> start(const Program& program);
  pid_t pid() const { return pid_; }
  // Returns once the program executes. `not_found`, `denied` or `invalid` when it cannot; the child is gone then.
  Result<void> go();
  // The program's own status, or 128 + signal. SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process are passed on
  // meanwhile, but for those that the terminal sent to both. A program that stops itself stops this process, too, so
  // that the shell sees it.
  Result<int> wait();

  StoppedProgram(StoppedProgram&& other) noexcept;
  StoppedProgram& operator=(StoppedProgram&&) = delete;
  ~StoppedProgram();  // a child that was never started is ended

 private:
  StoppedProgram() = default;
  void end_unstarted();

  std::string name_;
  pid_t pid_ = 0;
  Descriptor start_pipe_, error_pipe_;
  bool signals_blocked_ = false, started_ = false;
  sigset_t mask_before_{}, passed_on_{};
  pid_t foreground_group_ = -1;  // of the terminal at standard input, when it was ours
};

}  // namespace partita::deliver
