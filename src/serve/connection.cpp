#include "serve/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace partita::serve {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kMostGathered = 64u << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

}  // namespace

Connection::Connection(int socket, Peer peer, ssl_ctx_st* tls) : socket_(socket), peer_(std::move(peer)) {
  if (!tls) return;
  ssl_ = ::SSL_new(tls);
  if (ssl_) ::SSL_set_fd(ssl_, socket_);
}

Connection::~Connection() {
  if (ssl_) {
    if (agreed_) ::SSL_shutdown(ssl_);
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

bool Connection::wait_readable(std::chrono::milliseconds patience) const {
  return wait(POLLIN, std::chrono::steady_clock::now() + patience);
}

// -1 with `wanted` set: not now.
ssize_t Connection::receive_now(char* to, std::size_t size, short& wanted) {
  wanted = 0;
  if (!ssl_) {
    for (;;) {
      const ssize_t got = ::recv(socket_, to, size, 0);
      if (got >= 0) return got;
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) wanted = POLLIN;
      return -1;
    }
  }
  ::ERR_clear_error();
  const int got = ::SSL_read(ssl_, to, static_cast<int>(std::min<std::size_t>(size, 1u << 20)));
  if (got > 0) return got;
  switch (::SSL_get_error(ssl_, got)) {
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    case SSL_ERROR_WANT_READ:
      wanted = POLLIN;
      return -1;
    case SSL_ERROR_WANT_WRITE:
      wanted = POLLOUT;
      return -1;
    default:
      return -1;
  }
}

ssize_t Connection::receive(char* to, std::size_t size, Instant until) {
  for (;;) {
    short wanted = 0;
    const ssize_t got = receive_now(to, size, wanted);
    if (got >= 0 || wanted == 0) return got;
    if (!wait(wanted, until)) return -1;
  }
}

bool Connection::head_complete() const {
  return arrived().size() >= kMostHeadBytes || arrived().find(kHeadEnd) != std::string_view::npos;
}

Connection::Arrival Connection::fill() {
  if (in_begin_ > 0) {
    in_.erase(0, in_begin_);
    in_begin_ = 0;
  }
  std::array<char, 4096> bytes;
  while (!head_complete()) {
    short wanted = 0;
    const ssize_t got = receive_now(bytes.data(), bytes.size(), wanted);
    if (got > 0) {
      in_.append(bytes.data(), static_cast<std::size_t>(got));
      continue;
    }
    return got < 0 && wanted != 0 ? Arrival::incomplete : Arrival::ended;
  }
  return Arrival::head_complete;
}

bool Connection::handshake() {
  if (agreed_ || !ssl_) return true;
  const Instant until = std::chrono::steady_clock::now() + kPatience / 2;
  for (;;) {
    ::ERR_clear_error();
    const int done = ::SSL_accept(ssl_);
    if (done == 1) return agreed_ = true;
    const int why = ::SSL_get_error(ssl_, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return false;
    if (!wait(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, until)) return false;
  }
}

void Connection::allow(std::size_t bytes) {
  allowed_ = bytes;
  limit_reached_ = false;
  until_ = std::chrono::steady_clock::now() + kPatience;
}

ssize_t Connection::read(char* to, std::size_t size) {
  if (allowed_ == 0) {
    limit_reached_ = true;
    return -1;
  }
  size = std::min(size, allowed_);
  if (in_begin_ == in_.size()) {
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

bool Connection::write(std::string_view bytes) {
  out_ += bytes;
  return out_.size() < kMostGathered || flush();
}

bool Connection::flush() {
  const bool sent = send_all(out_);
  out_.clear();
  return sent;
}

bool Connection::send_all(std::string_view bytes) {
  const Instant until = std::chrono::steady_clock::now() + kPatience;
  while (!bytes.empty()) {
    short wanted = 0;
    ssize_t sent = 0;
    if (ssl_) {
      ::ERR_clear_error();
      sent = ::SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1u << 20)));
      const int why = sent > 0 ? SSL_ERROR_NONE : ::SSL_get_error(ssl_, static_cast<int>(sent));
      if (why == SSL_ERROR_WANT_READ) wanted = POLLIN;
      if (why == SSL_ERROR_WANT_WRITE) wanted = POLLOUT;
    } else {
      sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) wanted = POLLOUT;
    }
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (wanted == 0 || !wait(wanted, until)) {
      return false;
    }
  }
  return true;
}

bool Connection::peer_gone() const {
  pollfd poll_one{socket_, POLLRDHUP, 0};
  return ::poll(&poll_one, 1, 0) > 0;
}

}  // namespace partita::serve
