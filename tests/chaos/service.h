// The daemon in a process of its own, which may die at any moment.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "node/lease_test_support.h"
#include "wire.h"

namespace partita::chaos {

// Simulated time, which all processes share.
class SharedClock final : public Clock {
 public:
  SharedClock() {
    void* const page = ::mmap(nullptr, sizeof(*now_ms_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    now_ms_ = new (page) std::atomic<std::int64_t>(std::int64_t{500'000} * 3'600'000);
  }
  ~SharedClock() override { ::munmap(now_ms_, sizeof(*now_ms_)); }
  SharedClock(const SharedClock&) = delete;
  SharedClock& operator=(const SharedClock&) = delete;

  Time now() const override { return Time(std::chrono::milliseconds(now_ms_->load())); }
  void advance(std::chrono::milliseconds time) { now_ms_->fetch_add(time.count()); }

 private:
  std::atomic<std::int64_t>* now_ms_ = nullptr;
};

// How one life of the daemon goes.
struct Life {
  int dies_at = 0;         // at its n-th event (driver call or database write); 0: only by others
  bool power_cut = false;  // its end takes with it what was not synced: the machine starts anew after it
};

class Service {
 public:
  Service(node::LeaseWorld& world, const Clock& clock, int connections)
      : world_(world), clock_(clock), wanted_(connections) {}
  ~Service() { kill(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Returns once it can be asked, or is dead again. What it said on standard error is in last_words().
  bool start(const Life& life);
  bool runs() const { return pid_ > 0; }
  const Life& life() const { return life_; }
  pid_t pid() const { return pid_; }
  void kill();  // as SIGKILL does
  // Lets it come to its end. as_told: as its life said, so what it did not sync may be lost; fault: how_it_ended().
  enum class End { by_itself, as_told, fault };
  End stop();
  const std::string& how_it_ended() const { return how_; }
  std::string last_words() const;

  bool free(int connection) const { return !asked_[static_cast<std::size_t>(connection)]; }
  int connections() const { return wanted_; }
  void send(int connection, const Ask& ask);
  // An answer that came within this time, with its connection; nullopt: none, or it died (runs() tells).
  std::optional<std::pair<int, Answer>> receive(std::chrono::milliseconds within);
  // Sends and waits, on a connection of its own; nullopt: it died.
  std::optional<Answer> ask(const Ask& ask);

 private:
  [[noreturn]] void live(const std::vector<int>& sockets) const;
  void serve(node::DaemonNode& node, int socket) const;
  void reap();

  node::LeaseWorld& world_;
  const Clock& clock_;
  int wanted_;
  Life life_;
  pid_t pid_ = 0;
  std::string how_;
  std::vector<int> sockets_;  // the last one is for ask()
  std::vector<bool> asked_;
};

}  // namespace partita::chaos
