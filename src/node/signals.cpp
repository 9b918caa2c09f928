#include "node/signals.h"

#include <array>
#include <ctime>
#include <utility>

namespace partita::node {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 3> kStops = {
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}}};

sigset_t make_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const auto& [signal, _] : kStops) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

SignalsWait::SignalsWait() {
  sigset_t all = stop_signals();
  sigaddset(&all, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsWait::~SignalsWait() {
  if (sigismember(&before_, SIGPIPE) == 0) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec now{};
    while (sigtimedwait(&pipe, nullptr, &now) > 0) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

const sigset_t& stop_signals() {
  static const sigset_t kSignals = make_stop_signals();
  return kSignals;
}

std::string_view waiting_signal() {
  sigset_t waiting;
  sigemptyset(&waiting);
  sigpending(&waiting);
  for (const auto& [signal, name] : kStops)
    if (sigismember(&waiting, signal) == 1) return name;
  return "";
}

}  // namespace partita::node
