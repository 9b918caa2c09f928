// Writing to who is gone.
#pragma once

#include <signal.h>

namespace partita {

// While it lives, a write of this thread to a pipe or socket that nobody reads fails, which else ends this process.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal();
  ~WithoutPipeSignal();
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

}  // namespace partita
