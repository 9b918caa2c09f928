#include "study/stop_signals.h"

#include <ctime>

namespace partita::study {

StopSignals::StopSignals() {
  sigemptyset(&stops_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops_, signal);
  pthread_sigmask(SIG_BLOCK, &stops_, &before_);
}

StopSignals::~StopSignals() {
  came();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (first_ != 0) raise(first_);
}

std::string_view StopSignals::came() {
  // Taken out of the queue, so that giving back is not itself stopped by it.
  const timespec now{};
  for (int signal = 0; (signal = sigtimedwait(&stops_, nullptr, &now)) > 0;)
    if (first_ == 0) first_ = signal;
  switch (first_) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "";
  }
}

}  // namespace partita::study
