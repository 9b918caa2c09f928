#include "serve/status_cache.h"

#include <fmt/format.h>

#include "serve/secret.h"

namespace partita::serve {

std::string layout_etag(const layout::NodeState& state) {
  std::string text;
  for (const auto& gpu : state.gpus) {
    text += fmt::format("{} {} ", gpu.uuid, gpu.fault.value_or(""));
    if (gpu.mode) text += fmt::format("{:d}{:d}", gpu.mode->current, gpu.mode->pending);
    for (const auto& instance : gpu.instances) {
      text += fmt::format(" {}:{}@{}", instance.id, instance.profile, instance.placement.start);
      for (const auto& compute : instance.compute)
        text += fmt::format("/{}:{}@{}", compute.id, compute.profile, compute.placement.start);
    }
    text += '\n';
  }
  constexpr std::size_t kDigits = 32;
  return '"' + hash_of(text).substr(0, kDigits) + '"';
}

StatusCache::Reading::Reading(api::StatusAnswer answer)
    : status(std::move(answer)), text(api::to_json(status)), etag(layout_etag(status.state)) {}

const std::string& StatusCache::Reading::text_with_boards() const {
  std::call_once(written_, [this] { text_with_boards_ = api::to_json(status, api::Boards::included); });
  return text_with_boards_;
}

Result<std::shared_ptr<const StatusCache::Reading>> StatusCache::read() {
  return std::make_shared<const Reading>(TRY(node_.status()));
}

Result<std::shared_ptr<const StatusCache::Reading>> StatusCache::get() {
  std::unique_lock lock(mutex_);
  const auto changes = changes_.load();
  const auto now = std::chrono::steady_clock::now();
  if (finished_ > 0 && last_ && last_changes_ == changes && now - last_begun_ < kFresh) return last_;
  const auto needed = started_ + 1;  // a reading that begins after this call did
  while (finished_ < needed) {
    if (reading_) {
      read_.wait(lock);
      continue;
    }
    reading_ = true;
    const auto mine = ++started_;
    const auto changes_then = changes_.load();
    const auto begun = std::chrono::steady_clock::now();
    lock.unlock();
    auto reading = read();
    lock.lock();
    last_ = std::move(reading);
    last_changes_ = changes_then;
    last_begun_ = begun;
    finished_ = mine;
    reading_ = false;
    read_.notify_all();
  }
  return last_;
}

}  // namespace partita::serve
