// Time, injected: nothing in Partita reads the system's clock but SystemClock.
#pragma once

#include <chrono>

namespace partita {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() const override;
};

// A clock that tests set by hand.
class ManualClock final : public Clock {
 public:
  Time time{};
  Time now() const override { return time; }
};

}  // namespace partita
