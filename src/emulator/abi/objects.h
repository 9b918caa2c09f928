// Objects that clients allocate in the library: event sets and GPM samples. A handle is a number in a pointer's bits,
// so one that was freed, or that came from elsewhere, is found to be none. They live until they are freed or the last
// nvmlShutdown, and longer where another thread is using them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "emulator/abi/handle.h"

namespace partita::emulator::abi {

template <class Object, HandleKind kKind>
class Objects {
 public:
  PackedHandle add(std::shared_ptr<Object> object) {
    const std::lock_guard guard(mutex_);
    do ++last_;
    while (last_ == 0 || objects_.contains(last_));
    objects_.emplace(last_, std::move(object));
    return pack({kKind, 0, 0, 0, last_});
  }
  // nullptr when the handle is none.
  std::shared_ptr<Object> find(const void* handle) {
    const std::lock_guard guard(mutex_);
    const auto at = objects_.find(number(handle));
    return at == objects_.end() ? nullptr : at->second;
  }
  bool remove(const void* handle) {
    const std::lock_guard guard(mutex_);
    return objects_.erase(number(handle)) > 0;
  }
  void clear() {
    const std::lock_guard guard(mutex_);
    objects_.clear();
  }

 private:
  static std::uint32_t number(const void* handle) {
    const Handle h = unpack(handle);
    return h.kind == kKind && handle == static_cast<const void*>(pack(h)) ? h.serial : 0;
  }
  std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<Object>> objects_;
  std::uint32_t last_ = 0;
};

// At the last nvmlShutdown.
void forget_event_sets();
void forget_gpm_samples();

}  // namespace partita::emulator::abi
