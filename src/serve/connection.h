// One connection of a client: bytes in and out, plain or TLS, with limits and deadlines. Never blocks longer than its
// deadlines. Used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace partita::serve {

// Who is at the other end.
struct Peer {
  std::optional<uid_t> uid;  // of a Unix socket: as the kernel says
  std::string address;       // of TCP: "192.0.2.7"; "unix" else
};

class Connection {
 public:
  static constexpr std::size_t kMostHeadBytes = 16u << 10;

  // Takes the socket, which must be non-blocking. `tls`: nullptr for plain.
  Connection(int socket, Peer peer, ssl_ctx_st* tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  const Peer& peer() const { return peer_; }
  bool tls() const { return ssl_ != nullptr; }

  // Takes what has arrived, without waiting.
  enum class Arrival { incomplete, head_complete, ended };
  Arrival fill();
  // Whether the head of a request is here (or so much that it is too long).
  bool head_complete() const;
  // What has arrived and was not read.
  std::string_view arrived() const { return std::string_view(in_).substr(in_begin_); }
  // Waits up to `patience` for something to arrive.
  bool wait_readable(std::chrono::milliseconds patience) const;
  // TLS: agrees on keys, at most until the deadline. Plain: nothing.
  bool handshake();

  // From here on at most so many bytes are read until the next call, within kPatience. Reads beyond that fail.
  void allow(std::size_t bytes);
  bool limit_reached() const { return limit_reached_; }

  // As read(2): 0 at the end, -1 when failed, over the limit or late.
  ssize_t read(char* to, std::size_t size);
  // Kept until flush() or much has gathered.
  bool write(std::string_view bytes);
  bool flush();
  bool peer_gone() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;
  bool wait(short events, Instant until) const;
  ssize_t receive(char* to, std::size_t size, Instant until);
  ssize_t receive_now(char* to, std::size_t size, short& wanted);
  bool send_all(std::string_view bytes);

  int socket_;
  Peer peer_;
  ssl_st* ssl_ = nullptr;
  bool agreed_ = false;
  std::string in_;  // arrived, from in_begin_ on not read yet
  std::size_t in_begin_ = 0;
  std::string out_;
  std::size_t allowed_ = 0;
  bool limit_reached_ = false;
  Instant until_;
};

}  // namespace partita::serve
