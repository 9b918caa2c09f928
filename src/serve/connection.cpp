#include "serve/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace partita::serve {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kIdle{75};      // between requests
constexpr std::chrono::seconds kArriving{30};  // a request, from its first byte on
constexpr std::chrono::seconds kPatience{10};  // keys agreed on; an answer taken; a body of unknown length
constexpr std::chrono::seconds kDropping{2};   // what comes after the last answer
constexpr std::size_t kMostDropped = 16u << 20;
constexpr std::size_t kMuch = 64u << 10;     // unsent of a stream; or kept of a buffer that is empty
constexpr std::size_t kMostBody = 1u << 20;  // that is waited for without a thread
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::optional<std::string_view> header_in(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at)) {
    at += 2;
    const auto line = head.substr(at, head.find("\r\n", at) - at);
    if (line.size() > name.size() && line[name.size()] == ':' && lower(line.substr(0, name.size())) == name)
      return trim(line.substr(name.size() + 1));
  }
  return std::nullopt;
}

// The bytes of body that will come of themselves; 0 where that is not known, or more than is waited for.
std::size_t told_body(std::string_view head) {
  if (header_in(head, "expect")) return 0;
  const auto text = header_in(head, "content-length").value_or("");
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  return error == std::errc{} && end == text.data() + text.size() && length <= kMostBody ? length : 0;
}

short wanted_by(int ssl_error) {
  return ssl_error == SSL_ERROR_WANT_READ ? POLLIN : ssl_error == SSL_ERROR_WANT_WRITE ? POLLOUT : short{0};
}

// Lets go of what one large request or answer took.
void empty(std::string& buffer) {
  if (buffer.capacity() > kMuch)
    std::string().swap(buffer);
  else
    buffer.clear();
}

}  // namespace

Connection::Connection(int socket, Peer peer, ssl_ctx_st* tls)
    : socket_(socket), peer_(std::move(peer)), due_(steady_clock::now() + (tls ? kPatience : kIdle)) {
  if (!tls) return;
  ssl_ = ::SSL_new(tls);
  broken_ = ssl_ == nullptr || ::SSL_set_fd(ssl_, socket_) != 1;  // never plain where keys are to be agreed on
}

Connection::~Connection() {
  if (ssl_) {
    if (agreed_ && !dropped_) ::SSL_shutdown(ssl_);
    ::SSL_free(ssl_);
  }
  ::close(socket_);
}

bool Connection::wait(short events, Instant until) const {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left < 0) return false;
    pollfd poll_one{socket_, events, 0};
    const int ready = ::poll(&poll_one, 1, static_cast<int>(left) + 1);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

bool Connection::wait(std::chrono::milliseconds patience) const {
  return wait(wanted_, std::min(due_, steady_clock::now() + patience));
}

// -1 with `wanted_` set: not now.
ssize_t Connection::receive_now(char* to, std::size_t size) {
  wanted_ = 0;
  if (!ssl_) {
    for (;;) {
      const ssize_t got = ::recv(socket_, to, size, 0);
      if (got >= 0) return got;
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) wanted_ = POLLIN;
      return -1;
    }
  }
  ::ERR_clear_error();
  const int got = ::SSL_read(ssl_, to, static_cast<int>(std::min<std::size_t>(size, 1u << 20)));
  if (got > 0) return got;
  const int why = ::SSL_get_error(ssl_, got);
  wanted_ = wanted_by(why);
  return why == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

// The same.
ssize_t Connection::send_now(std::string_view bytes) {
  wanted_ = 0;
  if (!ssl_) {
    for (;;) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) return sent;
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) wanted_ = POLLOUT;
      return -1;
    }
  }
  ::ERR_clear_error();
  const int sent = ::SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20)));
  if (sent > 0) return sent;
  wanted_ = wanted_by(::SSL_get_error(ssl_, sent));
  return -1;
}

Connection::State Connection::advance() {
  if (const State state = agree(); state != State::ready) return state;
  if (const State state = send(); state != State::ready) return state;
  return last_ ? drop_rest() : take_request();
}

Connection::State Connection::agree() {
  if (agreed_ || !ssl_) return State::ready;
  ::ERR_clear_error();
  const int done = ::SSL_accept(ssl_);
  if (done != 1) {
    wanted_ = wanted_by(::SSL_get_error(ssl_, done));
    return wanted_ != 0 ? State::waiting : State::ended;
  }
  agreed_ = true;
  due_ = steady_clock::now() + kIdle;
  return State::ready;
}

Connection::State Connection::send() {
  if (broken_) return State::ended;
  if (!unsent()) return State::ready;
  while (unsent()) {
    const ssize_t sent = send_now(std::string_view(out_).substr(out_begin_));
    if (sent < 0) return wanted_ != 0 ? State::waiting : State::ended;
    out_begin_ += static_cast<std::size_t>(sent);
  }
  empty(out_);
  out_begin_ = 0;
  due_ = steady_clock::now() + kIdle;
  return State::ready;
}

bool Connection::request_complete() {
  if (awaited_ == 0) {
    const auto head = arrived().find(kHeadEnd);
    if (head == std::string_view::npos) return arrived().size() >= kMostHeadBytes;
    awaited_ = head + kHeadEnd.size() + told_body(arrived().substr(0, head + 2));
  }
  return arrived().size() >= awaited_;
}

Connection::State Connection::take_request() {
  if (in_begin_ > 0) {
    if (in_begin_ == in_.size())
      empty(in_);
    else
      in_.erase(0, in_begin_);
    in_begin_ = 0;
  }
  std::array<char, 4096> bytes;
  while (!request_complete()) {
    const ssize_t got = receive_now(bytes.data(), bytes.size());
    if (got > 0) {
      if (in_.empty()) due_ = steady_clock::now() + kArriving;
      in_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got < 0 && wanted_ != 0) return State::waiting;
    return awaited_ != 0 ? State::ready : State::ended;  // a body that ends early is refused, as others are
  }
  return State::ready;
}

Connection::State Connection::drop_rest() {
  if (!dropped_) {
    dropped_ = 0;
    due_ = steady_clock::now() + kDropping;
    if (agreed_) ::SSL_shutdown(ssl_);
    ::shutdown(socket_, SHUT_WR);
  }
  std::array<char, 16384> bytes;
  for (std::size_t now = 0; now < kMostBody && *dropped_ < kMostDropped;) {
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
    wanted_ = POLLIN;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? State::waiting : State::ended;
    if (got == 0) return State::ended;
    now += static_cast<std::size_t>(got);
    *dropped_ += static_cast<std::size_t>(got);
  }
  return *dropped_ < kMostDropped ? State::waiting : State::ended;
}

ssize_t Connection::receive(char* to, std::size_t size, Instant until) {
  for (;;) {
    const ssize_t got = receive_now(to, size);
    if (got >= 0 || wanted_ == 0) return got;
    if (!wait(wanted_, until)) return -1;
  }
}

void Connection::allow(std::size_t bytes) {
  awaited_ = 0;
  allowed_ = bytes;
  limit_reached_ = false;
  until_ = steady_clock::now() + kPatience;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (allowed_ == 0) {
    limit_reached_ = true;
    return -1;
  }
  size = std::min(size, allowed_);
  if (in_begin_ == in_.size()) {
    if (!flush(until_)) return -1;  // "100 Continue"
    in_.resize(4096);
    in_begin_ = 0;
    const ssize_t got = receive(in_.data(), in_.size(), until_);
    in_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (got <= 0) return got;
  }
  size = std::min(size, in_.size() - in_begin_);
  std::memcpy(to, in_.data() + in_begin_, size);
  in_begin_ += size;
  allowed_ -= size;
  return static_cast<ssize_t>(size);
}

void Connection::write(std::string_view bytes) {
  if (!unsent()) due_ = steady_clock::now() + kPatience;
  if (out_begin_ > kMuch) {
    out_.erase(0, out_begin_);
    out_begin_ = 0;
  }
  out_ += bytes;
}

bool Connection::push() {
  if (out_.size() - out_begin_ > kMuch) return flush(steady_clock::now() + kPatience);
  return send() != State::ended;
}

bool Connection::flush(Instant until) {
  for (;;) {
    const State state = send();
    if (state == State::ready) return true;
    if (state == State::waiting && wait(wanted_, until)) continue;
    broken_ = true;  // in the middle of an answer: what came next would be taken for the rest of it
    return false;
  }
}

bool Connection::peer_gone() const {
  pollfd poll_one{socket_, POLLRDHUP, 0};
  return broken_ || ::poll(&poll_one, 1, 0) > 0;
}

}  // namespace partita::serve
