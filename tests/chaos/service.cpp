#include "service.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "../crash/power_cut.h"
#include "api/json_read.h"

namespace partita::chaos {
namespace {

using api::Lease;

Answer answer_of(Result<std::vector<Lease>> leases) {
  if (leases) return {*std::move(leases), std::nullopt};
  return {{}, std::move(leases).error()};
}
Answer answer_of(Result<Lease> lease) {
  if (lease) return {{*std::move(lease)}, std::nullopt};
  return {{}, std::move(lease).error()};
}
Answer answer_of(Result<void> done) {
  if (done) return {};
  return {{}, std::move(done).error()};
}

Result<Lease> change(node::DaemonNode& node, const Ask& ask) {
  if (ask.verb == "renew") {
    const auto renewal = TRY(api::read_renewal(ask.body, ask.caller, ask.name));
    return node.renew(renewal.change, renewal.duration);
  }
  if (ask.verb == "resize") {
    const auto resizing = TRY(api::read_resizing(ask.body, ask.caller, ask.name));
    return node.resize(resizing.change, resizing.requirement);
  }
  if (ask.verb == "attach") {
    const auto attachment = TRY(api::read_attachment(ask.body, ask.caller, ask.name));
    return node.attach(attachment.change, attachment.process);
  }
  const api::LeaseChange change = TRY(api::read_lease_change(ask.body, ask.caller, ask.name));
  if (ask.verb == "release") return node.release(change);
  if (ask.verb == "park") return node.park(change);
  return node.unpark(change);
}

Result<void> demand(node::DaemonNode& node, const Ask& ask) {
  SilentProgress silent;
  TRY_VOID(node.apply({ask.caller, api::DemandRequest{{{ask.name, 1}}}, {}}, silent));
  return {};
}

Answer answer(node::DaemonNode& node, const Ask& ask) {
  if (ask.verb == "leases") {
    api::LeaseQuery query;
    query.caller = ask.caller;
    query.ended = true;
    return answer_of(node.leases(query));
  }
  if (ask.verb == "lease") {
    auto request = api::read_lease_request(ask.body, ask.caller);
    return request ? answer_of(node.lease(*request)) : answer_of(Result<void>(std::unexpected(request.error())));
  }
  if (ask.verb == "demand") return answer_of(demand(node, ask));
  if (ask.verb == "reload") return answer_of(node.reload());
  if (ask.verb == "status") {
    auto status = node.status();
    if (!status) return {{}, std::move(status).error()};
    api::Lease notes;  // there is no place of their own for them
    notes.name = "notes";
    notes.cause_details = status->notes;
    return {{notes}, std::nullopt};
  }
  return answer_of(change(node, ask));
}

}  // namespace

bool Service::start(const Life& life) {
  life_ = life;
  std::vector<int> theirs;
  for (int i = 0; i <= wanted_; ++i) {
    int pair[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) throw std::runtime_error("no socket pair");
    const timeval patience{60, 0};
    (void)::setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockets_.push_back(pair[0]);
    theirs.push_back(pair[1]);
  }
  asked_.assign(sockets_.size(), false);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) live(theirs);
  for (const int socket : theirs) ::close(socket);
  if (receive_text(sockets_.back())) return true;
  reap();
  return false;
}

// What the child does, to its end.
void Service::live(const std::vector<int>& sockets) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int socket : sockets_) ::close(socket);
  const std::string words = world_.root.path() / "last-words";
  if (const int file = ::open(words.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); file >= 0)
    ::dup2(file, 2);
  node::Options options = world_.options;
  if (life_.dies_at > 0)
    options.on_event = [at = life_.dies_at, count = 0](std::string_view) mutable {
      if (++count == at) ::raise(SIGKILL);
    };
  if (life_.power_cut) node::begin_power_cut();
  auto node = node::open_daemon(world_.catalog, clock_, options, world_.root.path() / "socket");
  if (!node) {
    std::fprintf(stderr, "%s\n", node::all_of(node.error()).c_str());
    ::_exit(3);
  }
  if (!send_text(sockets.back(), "ready")) ::_exit(4);
  {
    std::vector<std::jthread> threads;
    for (const int socket : sockets) threads.emplace_back([&, socket] { serve(**node, socket); });
  }
  if (life_.power_cut) ::raise(SIGKILL);
  node->reset();
  ::_exit(0);
}

void Service::serve(node::DaemonNode& node, int socket) const {
  while (const auto text = receive_text(socket))
    if (!send_text(socket, encode(answer(node, decode_ask(*text))))) return;
}

void Service::kill() {
  if (!runs()) return;
  ::kill(pid_, SIGKILL);
  reap();
}

Service::End Service::stop() {
  if (!runs()) return End::by_itself;
  for (const int socket : sockets_) ::shutdown(socket, SHUT_WR);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  reap();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return End::by_itself;
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (killed && (life_.power_cut || life_.dies_at > 0)) return End::as_told;
  how_ = (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                              : "status " + std::to_string(WEXITSTATUS(status))) +
         ": " + last_words();
  return End::fault;
}

void Service::reap() {
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
  asked_.clear();
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

std::string Service::last_words() const {
  std::ostringstream words;
  words << std::ifstream(world_.root.path() / "last-words").rdbuf();
  return words.str();
}

void Service::send(int connection, const Ask& ask) {
  const auto at = static_cast<std::size_t>(connection);
  asked_[at] = true;
  (void)send_text(sockets_[at], encode(ask));  // one who is dead is noticed by receive()
}

std::optional<std::pair<int, Answer>> Service::receive(std::chrono::milliseconds within) {
  std::vector<pollfd> polls;
  for (const int socket : sockets_) polls.push_back({socket, POLLIN, 0});
  if (!runs() || ::poll(polls.data(), polls.size(), static_cast<int>(within.count())) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents == 0) continue;
    const auto text = receive_text(sockets_[i]);
    if (!text) {
      reap();
      return std::nullopt;
    }
    asked_[i] = false;
    return std::pair(static_cast<int>(i), decode_answer(*text));
  }
  return std::nullopt;
}

std::optional<Answer> Service::ask(const Ask& ask) {
  if (!runs()) return std::nullopt;
  const int socket = sockets_.back();
  if (send_text(socket, encode(ask)))
    if (const auto text = receive_text(socket)) return decode_answer(*text);
  reap();
  return std::nullopt;
}

}  // namespace partita::chaos
