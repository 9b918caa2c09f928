// What wakes the conductor: calls, holders' processes that end, and time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "node/book.h"

namespace partita::node {

class Wake {
 public:
  Wake() = default;
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;
  ~Wake();

  Result<void> open();
  void wake();  // from any thread
  // Returns whether a watched process ended.
  bool wait(std::chrono::milliseconds most);
  // The holders' processes of these leases, and no others.
  void watch(const Book& book);

 private:
  int epoll_ = -1, event_ = -1;
  std::map<std::int64_t, int> watched_;  // by lease: a descriptor of its process
};

}  // namespace partita::node
