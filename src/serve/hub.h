// Keeps the connections: accepts them, lets those whose client is idle or slow wait without a thread, and gives those
// with a request to one of a bounded number of threads. Connections, threads and memory are shared between users (uids,
// and the network as one): whatever some of them hold, a newcomer finds a part of what is left. The connection whose
// time ends first, which is that of an answer nobody takes, is the first to make room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "serve/connection.h"

namespace partita::serve {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

struct Listening {
  Descriptor socket;
  ssl_ctx_st* tls = nullptr;  // nullptr: a Unix socket
  // Asked every second: a socket that takes the place of this one, because nobody can reach it any more.
  std::function<std::optional<Descriptor>()> renew{};
};

class Hub {
 public:
  // Answers one request of a connection whose head is here; false: the connection ends.
  using Answer = std::function<bool(Connection&)>;

  // `make_answer` is called once by each thread that works.
  Hub(std::vector<Listening> listening, int threads, int connections, std::function<Answer()> make_answer);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Until `stop`: then nothing new is accepted, and the requests under way are answered.
  Result<void> run(const std::stop_token& stop);

 private:
  using Owned = std::unique_ptr<Connection>;
  using Who = std::optional<uid_t>;  // nullopt: the network
  // What one has of the server.
  struct Share {
    int connections = 0, at_work = 0;
    std::size_t held = 0;       // bytes, of parked connections
    std::deque<Owned> waiting;  // for a thread
  };
  struct Parked {
    Owned connection;
    std::size_t held;
  };
  enum class After { ended, waits, again };

  bool wait_for(int number, void* what);
  void look();
  void renew_lost();
  void accept_some(const Listening& listening);
  void arrived(Connection* connection);
  void finish();
  void work(const std::stop_token& stop);
  After serve(Connection& connection, const Answer& answer);
  bool may_linger();
  std::optional<Connection::Instant> last_moment();

  // With the lock held.
  void enter(Owned connection);
  void leave(Owned connection);
  void park(Owned connection);
  Owned unpark(std::unordered_map<Connection*, Parked>::iterator at);
  bool drop_one(const Who& who, bool holding);
  void give(Owned connection);
  void line_up(Owned connection);
  Owned take();

  std::vector<Listening> listening_;
  int most_threads_, most_connections_;
  std::function<Answer()> make_answer_;
  Descriptor epoll_, wake_;
  std::chrono::steady_clock::time_point next_look_{};

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::map<Who, Share> shares_;  // of those with connections
  std::unordered_map<Connection*, Parked> parked_;
  int connections_ = 0, waiting_ = 0, free_ = 0, at_work_ = 0;
  std::size_t held_ = 0;
  std::optional<Connection::Instant> ended_by_;  // once the server ends: what is unsent by then is lost
  std::vector<std::jthread> threads_;
};

}  // namespace partita::serve
