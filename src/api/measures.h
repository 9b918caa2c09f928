// What a node counts about its own work, since it was opened.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace partita::api {

// How often something took how long.
struct Durations {
  static constexpr std::array kBoundsSeconds = {0.001, 0.003, 0.01, 0.03,  0.1,   0.3,    1.0,
                                                3.0,   10.0,  30.0, 100.0, 300.0, 1000.0, 3600.0};
  std::array<std::uint64_t, kBoundsSeconds.size() + 1> counts{};  // up to each bound; last: above all of them
  double total_seconds = 0;

  // Nothing takes less than no time, whatever a clock that was set back says.
  void add(std::chrono::duration<double> took) {
    took = std::max(took, std::chrono::duration<double>::zero());
    const auto at = std::ranges::lower_bound(kBoundsSeconds, took.count()) - kBoundsSeconds.begin();
    ++counts[static_cast<std::size_t>(at)];
    total_seconds += took.count();
  }
};

struct Measures {
  Durations cut;      // making one GPU instance
  Durations destroy;  // removing one
  Durations wait;     // of a lease, from asked to granted
};

}  // namespace partita::api
