// Keeps the connections: accepts them, lets idle ones wait without a thread, and gives those with a request to one of a
// bounded number of threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
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
  Hub(std::vector<Listening> listening, int threads, std::function<Answer()> make_answer);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Until `stop`: then nothing new is accepted, and the requests under way are answered.
  Result<void> run(const std::stop_token& stop);

 private:
  using Owned = std::unique_ptr<Connection>;
  struct Parked {
    Owned connection;
    std::chrono::steady_clock::time_point since;
  };

  bool wait_for(int number, void* what);
  int patience();
  void renew_lost();
  void accept_all(const Listening& listening);
  void watch(Owned connection);
  void arrived(Connection* connection);
  void give(Owned connection);
  void drop_idle();
  void work(const std::stop_token& stop);
  void serve(Owned connection, const Answer& answer);
  Owned take();
  bool may_linger();

  std::vector<Listening> listening_;
  int most_threads_;
  std::function<Answer()> make_answer_;
  Descriptor epoll_, wake_;
  std::chrono::steady_clock::time_point next_look_{};

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::unordered_map<Connection*, Parked> parked_;
  std::deque<Owned> plain_, tls_;  // with something to do
  int free_ = 0, tls_at_work_ = 0;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace partita::serve
