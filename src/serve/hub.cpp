#include "serve/hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace partita::serve {
namespace {

constexpr std::size_t kMostHeld = 64u << 20;  // bytes of requests and answers that wait for their clients
// How long a thread stays with a connection that just had an answer: a busy client's next request finds it there.
constexpr std::chrono::milliseconds kLinger{20};
constexpr std::chrono::milliseconds kLook{1000};  // how often what is late is ended, and what is lost renewed
constexpr int kAcceptedAtOnce = 64;               // then those that are here have their turn, however many come
constexpr std::chrono::seconds kLastPatience{2};  // for clients to take their answers when the server ends

// Whether one who has `own` of `most`, of which all together have `total`, may have one more: as long as it has less
// than three times what is free, so that one alone gets three quarters and each further one finds something; the
// network gets half. (Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998.)
template <class Number>
bool fair(Number own, Number total, Number most, const std::optional<uid_t>& who) {
  return total < most && own < (who ? 3 : 1) * (most - total);
}

// Half of the descriptors is for all else.
int most_connections(int wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  return static_cast<int>(std::min(limit.rlim_cur / 2, static_cast<rlim_t>(wanted)));
}

Peer peer_of(int socket, bool tls) {
  Peer peer;
  if (!tls) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) peer.uid = credentials.uid;
    peer.address = "unix";
    return peer;
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    const void* number = address.ss_family == AF_INET6
                             ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr)
                             : static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(&address)->sin_addr);
    ::inet_ntop(address.ss_family, number, text.data(), text.size());
  }
  peer.address = text.data();
  return peer;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = std::exchange(other.number_, -1);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Hub::Hub(std::vector<Listening> listening, int threads, int connections, std::function<Answer()> make_answer)
    : listening_(std::move(listening)),
      most_threads_(threads),
      most_connections_(most_connections(connections)),
      make_answer_(std::move(make_answer)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Hub::~Hub() = default;

Result<void> Hub::run(const std::stop_token& stop) {
  bool added = wait_for(wake_.get(), nullptr);
  for (auto& one : listening_) added = added && wait_for(one.socket.get(), &one);
  if (!added) return fail(ErrorCode::unavailable, std::string("cannot wait for connections: ") + std::strerror(errno));

  const std::stop_callback wake(stop, [this] {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  });
  std::array<epoll_event, 64> events;
  while (!stop.stop_requested()) {
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(kLook.count()));
    for (int i = 0; i < count; ++i) {
      void* what = events[static_cast<std::size_t>(i)].data.ptr;
      if (!what) continue;
      const auto one = std::ranges::find(listening_, what, [](const Listening& each) -> const void* { return &each; });
      if (one != listening_.end())
        accept_some(*one);
      else
        arrived(static_cast<Connection*>(what));
    }
    look();
  }
  finish();
  return {};
}

void Hub::finish() {
  {
    const std::scoped_lock lock(mutex_);
    ended_by_ = std::chrono::steady_clock::now() + kLastPatience;
    listening_.clear();
    while (!parked_.empty()) {
      Owned connection = unpark(parked_.begin());
      if (connection->unsent())
        give(std::move(connection));
      else
        leave(std::move(connection));
    }
  }
  given_.notify_all();
  threads_.clear();  // each finishes its request
}

bool Hub::wait_for(int number, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, number, &event) == 0;
}

void Hub::look() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLook;
  renew_lost();
  const std::scoped_lock lock(mutex_);
  for (auto at = parked_.begin(); at != parked_.end();) {
    const auto each = at++;
    if (each->second.connection->due() < now) leave(unpark(each));
  }
}

void Hub::renew_lost() {
  for (Listening& one : listening_) {
    auto socket = one.renew ? one.renew() : std::nullopt;
    if (!socket) continue;
    one.socket = *std::move(socket);  // the old one is closed, and so waited for no more
    (void)wait_for(one.socket.get(), &one);
  }
}

void Hub::accept_some(const Listening& listening) {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    const int socket = ::accept4(listening.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0 && errno == EINTR) continue;
    if (socket < 0) {
      // Out of descriptors: who has most makes room.
      if (errno == EMFILE || errno == ENFILE) {
        const std::scoped_lock lock(mutex_);
        const auto most =
            std::ranges::max_element(shares_, {}, [](const auto& entry) { return entry.second.connections; });
        if (most != shares_.end()) drop_one(most->first, false);
      }
      return;
    }
    if (listening.tls) {
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    auto connection = std::make_unique<Connection>(socket, peer_of(socket, listening.tls != nullptr), listening.tls);
    const std::scoped_lock lock(mutex_);
    enter(std::move(connection));
  }
}

void Hub::enter(Owned connection) {
  const Who who = connection->peer().uid;
  if (!fair(shares_[who].connections, connections_, most_connections_, who) && !drop_one(who, false)) {
    if (shares_[who].connections == 0) shares_.erase(who);
    return;  // closed at once
  }
  ++shares_[who].connections;
  ++connections_;
  park(std::move(connection));
}

void Hub::leave(Owned connection) {
  const auto share = shares_.find(connection->peer().uid);
  --connections_;
  if (--share->second.connections == 0) shares_.erase(share);
}

// Until the client does what is waited for.
void Hub::park(Owned connection) {
  Connection* key = connection.get();
  const Who who = key->peer().uid;
  epoll_event event{};
  event.events = EPOLLONESHOT | (key->waits_for() == POLLOUT ? EPOLLOUT : EPOLLIN | EPOLLRDHUP);
  event.data.ptr = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, key->socket(), &event) != 0 &&
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, key->socket(), &event) != 0)
    return leave(std::move(connection));
  const std::size_t held = key->held();
  parked_.insert_or_assign(key, Parked{std::move(connection), held});
  shares_.at(who).held += held;
  held_ += held;
  while (held_ > 0) {
    const auto share = shares_.find(who);  // gone with its last connection
    if (share == shares_.end() || share->second.held == 0 || fair(share->second.held, held_, kMostHeld, who)) return;
    drop_one(who, true);
  }
}

Hub::Owned Hub::unpark(std::unordered_map<Connection*, Parked>::iterator at) {
  Owned connection = std::move(at->second.connection);
  shares_.at(connection->peer().uid).held -= at->second.held;
  held_ -= at->second.held;
  parked_.erase(at);
  return connection;
}

// The parked connection of this one whose time ends first; `holding`: of those with bytes held.
bool Hub::drop_one(const Who& who, bool holding) {
  auto first = parked_.end();
  for (auto at = parked_.begin(); at != parked_.end(); ++at) {
    const Connection& each = *at->second.connection;
    if (each.peer().uid != who || (holding && at->second.held == 0)) continue;
    if (first == parked_.end() || each.due() < first->second.connection->due()) first = at;
  }
  if (first == parked_.end()) return false;
  leave(unpark(first));
  return true;
}

// What costs no more than a few calls is done here, without a thread.
void Hub::arrived(Connection* key) {
  std::unique_lock lock(mutex_);
  const auto found = parked_.find(key);
  if (found == parked_.end()) return;
  Owned connection = unpark(found);
  if (connection->tls()) return give(std::move(connection));
  lock.unlock();
  const auto state = connection->advance();
  lock.lock();
  switch (state) {
    case Connection::State::ready:
      return give(std::move(connection));
    case Connection::State::waiting:
      return park(std::move(connection));
    case Connection::State::ended:
      return leave(std::move(connection));
  }
}

void Hub::line_up(Owned connection) {
  ++waiting_;
  shares_.at(connection->peer().uid).waiting.push_back(std::move(connection));
}

void Hub::give(Owned connection) {
  line_up(std::move(connection));
  given_.notify_one();
  if (waiting_ > free_ && threads_.size() < static_cast<std::size_t>(most_threads_))
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

// Of those who may have one more thread, the one with the fewest.
Hub::Owned Hub::take() {
  Share* next = nullptr;
  for (auto& [who, share] : shares_)
    if (!share.waiting.empty() && fair(share.at_work, at_work_, most_threads_, who) &&
        (next == nullptr || share.at_work < next->at_work))
      next = &share;
  if (next == nullptr) return nullptr;
  Owned first = std::move(next->waiting.front());
  next->waiting.pop_front();
  --waiting_;
  ++next->at_work;
  ++at_work_;
  return first;
}

void Hub::work(const std::stop_token& stop) {
  const Answer answer = make_answer_();
  std::unique_lock lock(mutex_);
  for (;;) {
    Owned connection;
    ++free_;
    given_.wait(lock, stop, [&] { return (connection = take()) != nullptr || ended_by_; });
    --free_;
    if (!connection) return;
    lock.unlock();
    const After after = serve(*connection, answer);
    lock.lock();
    --at_work_;
    --shares_.at(connection->peer().uid).at_work;
    if (after == After::ended || (after == After::waits && ended_by_))
      leave(std::move(connection));
    else if (after == After::again)
      line_up(std::move(connection));
    else
      park(std::move(connection));
    if (waiting_ > 0) given_.notify_one();
  }
}

bool Hub::may_linger() {
  const std::scoped_lock lock(mutex_);
  return waiting_ == 0 && !ended_by_;
}

// One request; and those that follow, as long as nobody waits for this thread.
Hub::After Hub::serve(Connection& connection, const Answer& answer) {
  for (bool answered = false;;) {
    switch (connection.advance()) {
      case Connection::State::ended:
        return After::ended;
      case Connection::State::ready:
        if (answered && !may_linger()) return After::again;
        if (!answer(connection)) connection.end_when_sent();
        answered = true;
        continue;
      case Connection::State::waiting:
        break;
    }
    if (may_linger() && connection.wait(kLinger)) continue;
    if (const auto until = last_moment()) connection.flush(*until);
    return After::waits;
  }
}

// Once the server ends.
std::optional<Connection::Instant> Hub::last_moment() {
  const std::scoped_lock lock(mutex_);
  return ended_by_;
}

}  // namespace partita::serve
