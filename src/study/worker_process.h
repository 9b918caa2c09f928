// A tenant's command while it runs: its process group, what it prints, how it ended. Internal to study/.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "study/line_reader.h"

namespace partita::study {

constexpr std::size_t kMostLineBytes = 1 << 20;

class WorkerProcess {
 public:
  WorkerProcess() = default;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() { end(); }

  // In a process group of its own, with our environment and `extra`. `invalid` when it cannot be started.
  Result<void> start(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& extra);

  LineReader& output() { return output_; }
  LineReader& errors() { return errors_; }
  // Keeps the last line of its standard error.
  void read_errors();

  bool running();    // until it has ended by itself or by terminate(), which is waited for here
  void terminate();  // SIGTERM to the group; does not wait
  void end();        // SIGKILL to what is left of the group, and waits

  // By terminate() or end(), not by itself.
  bool ended_here() const { return ended_here_; }
  // "ended with status 3: its last words", "was killed by signal 9 (Killed)"; nullopt after status 0, and when it was
  // ended from here.
  std::optional<std::string> trouble() const;

 private:
  LineReader output_{kMostLineBytes}, errors_{4096};
  pid_t group_ = -1;
  std::optional<int> status_;  // as waitpid tells
  bool ended_here_ = false;
  std::string last_words_;
};

}  // namespace partita::study
