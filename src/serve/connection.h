// One connection of a client: bytes in and out, plain or TLS, with limits and deadlines. What a client is slow with is
// waited for without a thread: advance() takes and gives what it can at once. Used by one thread at a time.
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
  using Instant = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kMostHeadBytes = 16u << 10;

  // Takes the socket, which must be non-blocking. `tls`: nullptr for plain.
  Connection(int socket, Peer peer, ssl_ctx_st* tls);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int socket() const { return socket_; }
  const Peer& peer() const { return peer_; }
  bool tls() const { return ssl_ != nullptr; }

  // Without waiting: agrees on keys (TLS), then sends what is unsent, then takes what has arrived. `ready`: a request
  // is here, with its body where its head tells a length of up to 1 MiB; or so much that it is too long. No request is
  // taken while an answer is unsent.
  enum class State { ready, waiting, ended };
  State advance();
  // What advance() waits for, POLLIN or POLLOUT, and until when that may take: the whole of it, however slowly it
  // comes.
  short waits_for() const { return wanted_; }
  Instant due() const { return due_; }
  // Waits up to `patience` for it, and not beyond due().
  bool wait(std::chrono::milliseconds patience) const;
  // What has arrived and was not read.
  std::string_view arrived() const { return std::string_view(in_).substr(in_begin_); }
  bool unsent() const { return out_begin_ < out_.size(); }
  // Bytes kept for this client.
  std::size_t held() const { return in_.size() + out_.size(); }
  // No further request is taken. Once all is sent, advance() drops what still comes, for a moment, and then says
  // `ended`: closed at once, a client that is still sending would see that and not its answer.
  void end_when_sent() { last_ = true; }

  // From here on at most so many bytes are read until the next call, within ten seconds. Reads beyond that fail.
  void allow(std::size_t bytes);
  bool limit_reached() const { return limit_reached_; }
  // As read(2): 0 at the end, -1 when failed, over the limit or late. Sends what is unsent before it waits.
  ssize_t read(char* to, std::size_t size);

  // Kept until it is sent.
  void write(std::string_view bytes);
  // Sends what the client takes at once; waits for it, up to ten seconds, while much is unsent. False: it is gone.
  bool push();
  // Waits until all is sent or the time is over.
  bool flush(Instant until);
  bool peer_gone() const;

 private:
  bool wait(short events, Instant until) const;
  State agree();
  State send();
  State take_request();
  State drop_rest();
  bool request_complete();
  ssize_t receive(char* to, std::size_t size, Instant until);
  ssize_t receive_now(char* to, std::size_t size);
  ssize_t send_now(std::string_view bytes);

  int socket_;
  Peer peer_;
  ssl_st* ssl_ = nullptr;
  bool agreed_ = false, last_ = false, broken_ = false;
  std::optional<std::size_t> dropped_;  // bytes, once nothing more is sent
  short wanted_ = 0;
  Instant due_;
  std::string in_;  // arrived, from in_begin_ on not read yet
  std::size_t in_begin_ = 0;
  std::size_t awaited_ = 0;  // bytes of the request that arrives; 0: not known yet
  std::string out_;          // from out_begin_ on not sent yet
  std::size_t out_begin_ = 0;
  std::size_t allowed_ = 0;
  bool limit_reached_ = false;
  Instant until_;
};

}  // namespace partita::serve
