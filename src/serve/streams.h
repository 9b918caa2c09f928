// Answers that hold a thread for long (event streams, long polls): so many at once that requests always find a thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"

namespace partita::serve {

class Streams {
 public:
  Streams(int most, int most_per_caller) : most_(most), most_per_caller_(most_per_caller) {}
  // Held for as long as the answer lasts. `unavailable` when there are too many.
  Result<std::shared_ptr<void>> enter(const std::string& who);
  int open() const;

 private:
  void leave(const std::string& who);

  int most_, most_per_caller_;
  mutable std::mutex mutex_;
  int open_ = 0;
  std::map<std::string, int> per_caller_;
};

}  // namespace partita::serve
