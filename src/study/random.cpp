#include "study/random.h"

#include <limits>

namespace partita::study {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

double portable_exp(double x) {
  if (!(x > -708)) return 0;
  if (x > 709) return std::numeric_limits<double>::infinity();
  constexpr double kHigh = 0x1.62e42feep-1, kLow = 0x1.a39ef35793c76p-33, kInverse = 1.4426950408889634074;
  const double scaled = x * kInverse;
  const int k = static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
  const double r = (x - k * kHigh) - k * kLow;  // |r| <= 0.35
  double sum = 1;
  for (int i = 14; i >= 1; --i) sum = 1 + sum * r / i;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

Random::Random(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t state = seed;
  state = splitmix(state) ^ (stream * 0xd1342543de82ef95ULL + 1);
  for (auto& word : s_) word = splitmix(state);
}

double Random::normal() {
  for (;;) {  // Marsaglia's polar method, one of the pair
    const double u = 2 * uniform() - 1, v = 2 * uniform() - 1, s = u * u + v * v;
    if (s < 1 && s > 0) return u * std::sqrt(-2 * portable_log(s) / s);
  }
}

double Random::gamma(double variation) {
  if (variation == 1) return exponential(1);
  const double shape = 1 / (variation * variation);
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (portable_log(uniform()) >= 0.5 * x * x + d - d * v + d * portable_log(v)) continue;
    const double sample = d * v / shape;
    return shape < 1 ? sample * portable_exp(portable_log(uniform()) / shape) : sample;
  }
}

}  // namespace partita::study
