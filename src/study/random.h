// Random numbers that are the same on every platform for a seed: xoshiro256++ (Blackman and Vigna, 2019), seeded by
// splitmix64, and distributions made of IEEE operations only (no libm, no std distributions; the folder is compiled
// without fused multiply-add).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace partita::study {

// Natural logarithm of a positive normal number, within 2 ulp.
inline double portable_log(double x) {
  constexpr double kLn2 = 0.69314718055994530942, kSqrtHalf = 0.70710678118654752440;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1022;
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) | 0x3fe0000000000000ULL);  // [0.5, 1)
  if (m < kSqrtHalf) m *= 2, --exponent;
  const double s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;
  // atanh series to s^19: |s| <= 0.1716, the rest is below 1e-17
  const double low = (1 + z * (1.0 / 3)) + z2 * (1.0 / 5 + z * (1.0 / 7));
  const double mid = (1.0 / 9 + z * (1.0 / 11)) + z2 * (1.0 / 13 + z * (1.0 / 15));
  const double high = 1.0 / 17 + z * (1.0 / 19);
  return 2 * s * (low + z4 * (mid + z4 * high)) + exponent * kLn2;
}

// e^x, within 4 ulp; 0 below -708, infinity above 709.
double portable_exp(double x);

class Random {
 public:
  // Streams of one seed are independent.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(s_[0] + s_[3], 23) + s_[0], t = s_[1] << 17;
    s_[2] ^= s_[0];
    s_[3] ^= s_[1];
    s_[1] ^= s_[2];
    s_[0] ^= s_[3];
    s_[2] ^= t;
    s_[3] = std::rotl(s_[3], 45);
    return result;
  }
  // In (0, 1), never the ends.
  double uniform() { return (static_cast<double>(bits() >> 12) + 0.5) * 0x1p-52; }
  double exponential(double mean) { return -mean * portable_log(uniform()); }
  double normal();
  // Gamma with mean 1 and this coefficient of variation > 0 (Marsaglia and Tsang, 2000). 1 is the exponential.
  double gamma(double variation);

 private:
  std::uint64_t s_[4];
};

}  // namespace partita::study
