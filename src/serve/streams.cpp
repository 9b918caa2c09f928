#include "serve/streams.h"

namespace partita::serve {

Result<std::shared_ptr<void>> Streams::enter(const std::string& who) {
  const std::scoped_lock lock(mutex_);
  if (open_ >= most_)
    return fail(ErrorCode::unavailable, "too many open event streams: " + std::to_string(open_) +
                                            " on this node, the most there may be; ask for events without waiting");
  int& of_caller = per_caller_[who];
  if (of_caller >= most_per_caller_)
    return fail(ErrorCode::unavailable, "too many open event streams of yours: " + std::to_string(of_caller) +
                                            ", the most there may be; close one");
  ++of_caller;
  ++open_;
  return std::shared_ptr<void>(nullptr, [this, who](void*) { leave(who); });
}

void Streams::leave(const std::string& who) {
  const std::scoped_lock lock(mutex_);
  --open_;
  const auto found = per_caller_.find(who);
  if (found != per_caller_.end() && --found->second == 0) per_caller_.erase(found);
}

int Streams::open() const {
  const std::scoped_lock lock(mutex_);
  return open_;
}

}  // namespace partita::serve
