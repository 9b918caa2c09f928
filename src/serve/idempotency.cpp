#include "serve/idempotency.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "base/text.h"

namespace partita::serve {

// With the lock held.
void Idempotency::forget_old() {
  constexpr std::chrono::hours kKept{24};
  constexpr std::size_t kMost = 10'000;
  while (!ages_.empty() && (ages_.size() > kMost || clock_.now() - ages_.front().first > kKept)) {
    const auto found = entries_.find(ages_.front().second);
    if (found != entries_.end() && found->second.done && found->second.at == ages_.front().first) entries_.erase(found);
    ages_.pop_front();
  }
}

Result<void> check_idempotency_key(const std::string& key) {
  constexpr std::size_t kLongest = 255;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  if (!key.empty() && key.size() <= kLongest && std::ranges::all_of(key, fits)) return {};
  return fail(ErrorCode::invalid, "Idempotency-Key: expected 1-255 characters of a-z, A-Z, 0-9, '.', '_', '-'");
}

Result<std::optional<Response>> Idempotency::begin(const std::string& who, const std::string& key,
                                                   const std::string& request) {
  constexpr std::chrono::seconds kPatience{30};
  const auto hash = std::hash<std::string>{}(request);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::unique_lock lock(mutex_);
  forget_old();
  for (;;) {
    const auto [found, fresh] = entries_.try_emplace({who, key}, Entry{hash, false, {}, clock_.now()});
    if (fresh) return std::nullopt;
    if (found->second.request != hash)
      return fail(ErrorCode::invalid,
                  "Idempotency-Key " + quote(key) + " was used for another request: take a new one");
    if (found->second.done) return found->second.response;
    if (ended_.wait_until(lock, until) == std::cv_status::timeout)
      return fail(ErrorCode::unavailable, "the request with Idempotency-Key " + quote(key) + " is still under way");
  }
}

void Idempotency::end(const std::string& who, const std::string& key, const Response& response) {
  constexpr int kFirstRefusal = 300;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = entries_.find({who, key});
    if (found == entries_.end()) return;
    if (response.status >= kFirstRefusal || response.stream) {
      entries_.erase(found);
    } else {
      found->second.done = true;
      found->second.response = response;
      ages_.emplace_back(found->second.at, Key{who, key});
    }
  }
  ended_.notify_all();
}

}  // namespace partita::serve
