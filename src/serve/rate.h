// How often each caller may ask: a bucket per caller that fills steadily. Thread safe; bounded memory.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace partita::serve {

class RateLimit {
 public:
  // Bursts of twice the rate. 0: no limit.
  RateLimit(const Clock& clock, double per_second) : clock_(clock), per_second_(per_second) {}
  // nullopt: go on. Else how long to wait.
  std::optional<std::chrono::milliseconds> take(const std::string& who);

 private:
  struct Bucket {
    double tokens = 0;
    Time at;
  };
  const Clock& clock_;
  double per_second_;
  std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace partita::serve
