// Signals that would end the process in the middle of a change.
#pragma once

#include <signal.h>

#include <string_view>

#include "base/pipe_signal.h"

namespace partita::node {

// While it lives, SIGINT, SIGTERM and SIGHUP wait for its end: the change looks whether one came, goes back to the old
// layout and then is ended by it. A reader of its output that went away (SIGPIPE) ends nothing. Of the calling thread.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait();

 private:
  WithoutPipeSignal pipe_;
  sigset_t before_{};
};

// SIGINT, SIGTERM and SIGHUP.
const sigset_t& stop_signals();

// "SIGINT" when one of them waits, else "".
std::string_view waiting_signal();

}  // namespace partita::node
