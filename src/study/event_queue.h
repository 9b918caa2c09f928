// The next of a fixed set of clocks ("slots"): a tournament tree. Each slot has one next time, infinity when none;
// equal times come in slot order. Setting a slot costs log2(slots) comparisons and no memory.
#pragma once

#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace partita::study {

class EventQueue {
 public:
  explicit EventQueue(std::size_t slots)
      : leaves_(std::bit_ceil(slots < 2 ? std::size_t{2} : slots)),
        time_(leaves_, std::numeric_limits<double>::infinity()),
        winner_(2 * leaves_) {
    for (std::size_t i = 0; i < leaves_; ++i) winner_[leaves_ + i] = i;
    for (std::size_t node = leaves_ - 1; node >= 1; --node) winner_[node] = winner_[2 * node];
  }

  void set(std::size_t slot, double time) {
    if (time_[slot] == time) return;
    time_[slot] = time;
    for (std::size_t node = (leaves_ + slot) / 2; node >= 1; node /= 2) {
      const std::size_t left = winner_[2 * node], right = winner_[2 * node + 1];
      const std::size_t best = time_[right] < time_[left] ? right : left;
      if (winner_[node] == best && best != slot) return;  // nothing changes above
      winner_[node] = best;
    }
  }

  std::size_t first() const { return winner_[1]; }
  double time(std::size_t slot) const { return time_[slot]; }

 private:
  std::size_t leaves_;
  std::vector<double> time_;
  std::vector<std::size_t> winner_;
};

}  // namespace partita::study
