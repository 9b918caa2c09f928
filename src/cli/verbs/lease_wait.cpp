#include "cli/verbs/lease_wait.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/text.h"
#include "cli/draw/draw_lease.h"

namespace partita::cli {
namespace {

using std::chrono::milliseconds;
using State = api::LeaseState;

constexpr milliseconds kFirstPause{10}, kLongestPause{500};

bool is_settling(const api::Lease& lease) {
  return lease.state == State::waiting || lease.state == State::cutting || lease.state == State::granting;
}

milliseconds longer(milliseconds pause) { return std::min(kLongestPause, pause * 3 / 2); }

// One line on the terminal that changes; on no terminal it is told once.
class WaitingLine {
 public:
  explicit WaitingLine(const Parsed& parsed)
      : look_(look_of(STDERR_FILENO, parsed.flag("no-color"))),
        silent_(format_of(parsed).value_or(Format::table) != Format::table) {}
  ~WaitingLine() { clear(); }
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

  void show(const std::string& text) {
    if (silent_ || text == shown_ || (!look_.terminal && !shown_.empty())) return;
    shown_ = text;
    const auto line = look_.terminal ? "\r\033[K" + fitted(look_, text, look_.width - 1) : "partita: " + text + '\n';
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
  }
  void clear() {
    if (look_.terminal && !shown_.empty()) std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    shown_.clear();
  }

 private:
  Look look_;
  bool silent_;
  std::string shown_;
};

Result<int> give_up(Session& session, const std::vector<api::Lease>& leases, int signal) {
  for (const auto& lease : leases) {
    api::LeaseChange change;
    change.caller = session.caller;
    change.name = lease.name;
    const auto released = session.node->release(change);
    if (!released && released.error().code != ErrorCode::not_found) return std::unexpected(released.error());
  }
  constexpr int kSignalStatus = 128;
  return kSignalStatus + signal;
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int StopSignals::sleep(milliseconds time) const {
  constexpr long kNanoseconds = 1'000'000;
  const timespec wait{time.count() / 1000, (time.count() % 1000) * kNanoseconds};
  return std::max(0, sigtimedwait(&signals_, nullptr, &wait));
}

Result<api::Lease> lease_called(Session& session, const std::string& name) {
  api::LeaseQuery query;
  query.caller = session.caller;
  query.name = name;
  query.ended = true;
  auto found = TRY(session.node->leases(query));
  if (!found.empty()) return *std::ranges::max_element(found, {}, &api::Lease::id);
  std::vector<std::string> names;
  query.name.clear();
  query.ended = false;
  for (const auto& lease : TRY(session.node->leases(query))) names.push_back(lease.name);
  return fail(ErrorCode::not_found, "no lease is called " + quote(name) + did_you_mean(name, names),
              names.empty() ? std::vector<std::string>{} : std::vector<std::string>{"partita leases lists them"});
}

Result<Waited> wait_until_active(const Parsed& parsed, Session& session, std::vector<api::Lease> leases) {
  if (std::ranges::none_of(leases, is_settling)) return Waited{std::move(leases)};
  const StopSignals signals;
  WaitingLine line(parsed);
  for (auto pause = kFirstPause;; pause = longer(pause)) {
    const auto waiting = std::ranges::find_if(leases, is_settling);
    if (waiting == leases.end()) break;
    line.show(waiting_words(*waiting, session.clock.now()));
    if (const int signal = signals.sleep(pause)) {
      line.clear();
      return Waited{{}, TRY(give_up(session, leases, signal))};
    }
    for (auto& lease : leases) lease = TRY(lease_called(session, lease.name));
  }
  for (const auto& lease : leases)
    if (lease.state == State::ended)
      return fail(ErrorCode::unavailable, fmt::format("lease {} has ended: {}", lease.name, lease.cause),
                  lease.cause_details);
  return Waited{std::move(leases)};
}

Result<api::Lease> wait_until_ended(Session& session, api::Lease lease, milliseconds patience) {
  const StopSignals signals;
  for (auto pause = kFirstPause, waited = milliseconds{}; lease.state == State::releasing && waited < patience;
       waited += pause, pause = longer(pause)) {
    if (signals.sleep(pause) != 0) break;
    lease = TRY(lease_called(session, lease.name));
  }
  return lease;
}

}  // namespace partita::cli
