#include "base/pipe_signal.h"

#include <ctime>

namespace partita {

WithoutPipeSignal::WithoutPipeSignal() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

WithoutPipeSignal::~WithoutPipeSignal() {
  if (!sigismember(&before_, SIGPIPE)) {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace partita
