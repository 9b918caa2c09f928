// When the requests of one tenant arrive.
#pragma once

#include <cstddef>

#include "study/random.h"
#include "study/simulator.h"

namespace partita::study {

class ArrivalSource {
 public:
  ArrivalSource(const Arrivals& arrivals, Random random);

  // Time of the next arrival; infinity when none is due.
  double next() const { return next_; }
  // Requests that arrive at time 0 without a clock: the clients of a closed loop that does not think.
  int at_start() const;
  // One request has arrived at next().
  void arrived();
  // `requests` of a closed loop are done; returns how many come back at once (those without think time).
  int completed(int requests, double now);

 private:
  void next_think(double now);
  void next_on_off();

  const Arrivals& arrivals_;
  Random random_;
  double next_;
  int thinking_ = 0;       // closed
  std::size_t index_ = 0;  // trace
  bool on_ = false;        // on_off
  double phase_end_ = 0;
};

}  // namespace partita::study
