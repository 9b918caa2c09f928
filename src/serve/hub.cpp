#include "serve/hub.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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

constexpr std::size_t kMostConnections = 4096;
constexpr std::chrono::seconds kIdle{75};
// How long a thread stays with a connection that just had an answer: a busy client's next request finds it there.
constexpr std::chrono::milliseconds kLinger{20};
constexpr std::chrono::milliseconds kLook{1000};  // how often what is listened to may be lost

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

Hub::Hub(std::vector<Listening> listening, int threads, std::function<Answer()> make_answer)
    : listening_(std::move(listening)),
      most_threads_(threads),
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
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), patience());
    for (int i = 0; i < count; ++i) {
      void* what = events[static_cast<std::size_t>(i)].data.ptr;
      if (!what) continue;
      const auto one = std::ranges::find(listening_, what, [](const Listening& each) -> const void* { return &each; });
      if (one != listening_.end())
        accept_all(*one);
      else
        arrived(static_cast<Connection*>(what));
    }
    drop_idle();
    renew_lost();
  }
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    parked_.clear();
    listening_.clear();
  }
  given_.notify_all();
  threads_.clear();  // each finishes its request
  return {};
}

bool Hub::wait_for(int number, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, number, &event) == 0;
}

int Hub::patience() {
  if (std::ranges::any_of(listening_, [](const Listening& one) { return one.renew != nullptr; }))
    return static_cast<int>(kLook.count());
  const std::scoped_lock lock(mutex_);
  return parked_.empty() ? -1 : static_cast<int>(std::chrono::milliseconds(kIdle).count()) / 4;
}

void Hub::renew_lost() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kLook;
  for (Listening& one : listening_) {
    auto socket = one.renew ? one.renew() : std::nullopt;
    if (!socket) continue;
    one.socket = *std::move(socket);  // the old one is closed, and so waited for no more
    (void)wait_for(one.socket.get(), &one);
  }
}

void Hub::accept_all(const Listening& listening) {
  for (;;) {
    const int socket = ::accept4(listening.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0 && errno == EINTR) continue;
    if (socket < 0) {
      // Out of descriptors: idle connections make room.
      if (errno == EMFILE || errno == ENFILE) {
        const std::scoped_lock lock(mutex_);
        if (!parked_.empty()) parked_.erase(parked_.begin());
      }
      return;
    }
    if (listening.tls) {
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    auto connection = std::make_unique<Connection>(socket, peer_of(socket, listening.tls != nullptr), listening.tls);
    const std::scoped_lock lock(mutex_);
    if (parked_.size() >= kMostConnections) continue;  // closed at once
    watch(std::move(connection));
  }
}

// With the lock held.
void Hub::watch(Owned connection) {
  Connection* key = connection.get();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = key;
  parked_.insert_or_assign(key, Parked{std::move(connection), std::chrono::steady_clock::now()});
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, key->socket(), &event) == 0) return;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, key->socket(), &event) != 0) parked_.erase(key);
}

// A slow client holds no thread: it waits here until the head of its request is complete.
void Hub::arrived(Connection* key) {
  const std::scoped_lock lock(mutex_);
  const auto found = parked_.find(key);
  if (found == parked_.end()) return;
  Owned connection = std::move(found->second.connection);
  const auto since = found->second.since;
  parked_.erase(found);
  if (connection->tls()) return give(std::move(connection));
  switch (connection->fill()) {
    case Connection::Arrival::head_complete:
      return give(std::move(connection));
    case Connection::Arrival::incomplete:
      watch(std::move(connection));
      parked_.at(key).since = since;
      return;
    case Connection::Arrival::ended:
      return;
  }
}

// With the lock held.
void Hub::give(Owned connection) {
  (connection->tls() ? tls_ : plain_).push_back(std::move(connection));
  if (plain_.size() + tls_.size() <= static_cast<std::size_t>(free_)) return given_.notify_one();
  if (threads_.size() < static_cast<std::size_t>(most_threads_))
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
}

void Hub::drop_idle() {
  const auto oldest = std::chrono::steady_clock::now() - kIdle;
  const std::scoped_lock lock(mutex_);
  std::erase_if(parked_, [&](const auto& entry) { return entry.second.since < oldest; });
}

// With the lock held. The network never takes all threads from local users.
Hub::Owned Hub::take() {
  auto* queue = !plain_.empty() ? &plain_ : !tls_.empty() && tls_at_work_ < (most_threads_ + 1) / 2 ? &tls_ : nullptr;
  if (!queue) return nullptr;
  Owned first = std::move(queue->front());
  queue->pop_front();
  return first;
}

void Hub::work(const std::stop_token& stop) {
  const Answer answer = make_answer_();
  std::unique_lock lock(mutex_);
  for (;;) {
    Owned connection;
    ++free_;
    given_.wait(lock, stop, [&] { return (connection = take()) != nullptr || ending_; });
    --free_;
    if (!connection) return;
    const bool tls = connection->tls();
    if (tls) ++tls_at_work_;
    lock.unlock();
    serve(std::move(connection), answer);
    lock.lock();
    if (tls) --tls_at_work_;
    if (tls && !tls_.empty()) given_.notify_one();
  }
}

bool Hub::may_linger() {
  const std::scoped_lock lock(mutex_);
  return plain_.empty() && tls_.empty() && !ending_;
}

void Hub::serve(Owned connection, const Answer& answer) {
  if (!connection->handshake()) return;
  for (;;) {
    switch (connection->fill()) {
      case Connection::Arrival::ended:
        return;
      case Connection::Arrival::head_complete:
        if (!answer(*connection)) return;
        continue;
      case Connection::Arrival::incomplete:
        break;
    }
    if (may_linger() && connection->wait_readable(kLinger)) continue;
    const std::scoped_lock lock(mutex_);
    if (!ending_) watch(std::move(connection));
    return;
  }
}

}  // namespace partita::serve
