#include "serve/rate.h"

#include <algorithm>
#include <cmath>

namespace partita::serve {

std::optional<std::chrono::milliseconds> RateLimit::take(const std::string& who) {
  using Seconds = std::chrono::duration<double>;
  constexpr std::size_t kMostCallers = 10'000;
  if (per_second_ <= 0) return std::nullopt;
  const double most = 2 * per_second_;
  const Time now = clock_.now();
  const std::scoped_lock lock(mutex_);
  if (buckets_.size() >= kMostCallers)  // full buckets tell nothing
    std::erase_if(buckets_, [&](const auto& entry) {
      return Seconds(now - entry.second.at).count() * per_second_ + entry.second.tokens >= most;
    });
  auto& bucket = buckets_.try_emplace(who, Bucket{most, now}).first->second;
  bucket.tokens = std::min(most, bucket.tokens + std::max(0.0, Seconds(now - bucket.at).count()) * per_second_);
  bucket.at = now;
  if (bucket.tokens >= 1) {
    bucket.tokens -= 1;
    return std::nullopt;
  }
  constexpr double kMillis = 1000;
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil((1 - bucket.tokens) / per_second_ * kMillis)));
}

}  // namespace partita::serve
