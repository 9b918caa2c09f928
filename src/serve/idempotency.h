// Answers to POSTs that carried an Idempotency-Key, so that a client that lost the answer may ask again. Kept for a day
// in memory; what leases were asked for with a key, the node itself remembers (api::Once). A refusal changed nothing
// and is not kept: the next try may succeed. Thread safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "serve/http.h"

namespace partita::serve {

Result<void> check_idempotency_key(const std::string& key);

class Idempotency {
 public:
  explicit Idempotency(const Clock& clock) : clock_(clock) {}

  // The answer that was given before; nullopt: do it, then call end(). `invalid` when the key stood for another
  // request. Waits while the same request is under way; `unavailable` when that takes too long.
  Result<std::optional<Response>> begin(const std::string& who, const std::string& key, const std::string& request);
  void end(const std::string& who, const std::string& key, const Response& response);

 private:
  using Key = std::pair<std::string, std::string>;
  struct Entry {
    std::size_t request = 0;  // its hash
    bool done = false;
    Response response;
    Time at;
  };
  void forget_old();

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<Key, Entry> entries_;
  std::deque<std::pair<Time, Key>> ages_;
};

}  // namespace partita::serve
