#include "study/histogram.h"

#include <cmath>

namespace partita::study {

void Histogram::clear() {
  for (auto& block : blocks_)
    if (block) block->fill(0);
  total_ = 0;
  sum_ = max_ = 0;
}

double Histogram::quantile(double q) const {
  if (total_ == 0) return 0;
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(total_))));
  const auto edge = [](std::int64_t bucket) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(bucket + kFirst) << (52 - kSubBits));
  };
  std::uint64_t seen = 0;
  for (std::int64_t i = 0; i < kBuckets; ++i) {
    const auto& block = blocks_[static_cast<std::size_t>(i >> kSubBits)];
    if (block) seen += (*block)[static_cast<std::size_t>(i & (kSub - 1))];
    if (block && seen >= rank) return std::min((edge(i) + edge(i + 1)) / 2, max_);
  }
  return max_;
}

}  // namespace partita::study
