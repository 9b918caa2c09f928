#include "node/signals.h"

#include <array>
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

SignalsWait::SignalsWait() { pthread_sigmask(SIG_BLOCK, &stop_signals(), &before_); }

SignalsWait::~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

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
