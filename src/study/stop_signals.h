// SIGINT, SIGTERM and SIGHUP while something must be given back first. Internal to study/.
#pragma once

#include <signal.h>

#include <string_view>

namespace partita::study {

// While it lives, the first of them is kept, to be asked for; its end hands it on, which ends the process as ever. Of
// the calling thread.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // "SIGINT" when one came, else "".
  std::string_view came();

 private:
  sigset_t stops_{}, before_{};
  int first_ = 0;
};

}  // namespace partita::study
