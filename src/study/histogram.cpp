#include "study/histogram.h"

#include <cmath>

namespace partita::study {

void Histogram::clear() {
  std::fill(counts_.begin(), counts_.end(), 0);
  total_ = 0;
  sum_ = max_ = 0;
}

double Histogram::quantile(double q) const {
  if (total_ == 0) return 0;
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    const auto edge = [](std::size_t bucket) {
      return std::bit_cast<double>((static_cast<std::uint64_t>(bucket) + static_cast<std::uint64_t>(kFirst))
                                   << (52 - kSubBits));
    };
    return std::min((edge(i) + edge(i + 1)) / 2, max_);
  }
  return max_;
}

}  // namespace partita::study
