// Quantiles in bounded memory: counts in buckets of constant relative width. Seconds from 2^-34 (58 ps) to 2^46 (two
// million years); each power of two is cut into 128 equal buckets, so a quantile is within 0.4 % of a recorded value.
// Memory: 1 KiB for each power of two that occurs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>

namespace partita::study {

class Histogram {
 public:
  static constexpr double kRelativeError = 1.0 / 256;

  void add(double seconds) {
    const std::int64_t index = bucket(seconds);
    auto& block = blocks_[static_cast<std::size_t>(index >> kSubBits)];
    if (!block) block = std::make_unique<Block>();
    ++(*block)[static_cast<std::size_t>(index & (kSub - 1))];
    ++total_;
    sum_ += seconds;
    if (seconds > max_) max_ = seconds;
  }
  void clear();

  std::uint64_t total() const { return total_; }
  double mean() const { return total_ == 0 ? 0 : sum_ / static_cast<double>(total_); }
  double max() const { return max_; }  // exact
  // Smallest value that a share `q` of all values does not exceed; 0 when empty.
  double quantile(double q) const;

 private:
  static constexpr int kSubBits = 7, kSub = 1 << kSubBits, kLowExponent = -34, kHighExponent = 46;
  static constexpr std::int64_t kFirst = static_cast<std::int64_t>(1023 + kLowExponent) << kSubBits;
  static constexpr std::int64_t kBuckets = static_cast<std::int64_t>(kHighExponent - kLowExponent) << kSubBits;
  using Block = std::array<std::uint64_t, kSub>;

  // The upper bits of a positive double grow with it: exponent, then the first bits of the mantissa.
  static std::int64_t bucket(double seconds) {
    const auto key = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(seconds) >> (52 - kSubBits)) - kFirst;
    return std::clamp<std::int64_t>(key, 0, kBuckets - 1);
  }

  std::array<std::unique_ptr<Block>, kHighExponent - kLowExponent> blocks_;
  std::uint64_t total_ = 0;
  double sum_ = 0, max_ = 0;
};

}  // namespace partita::study
