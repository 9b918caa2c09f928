#include "predict/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace partita::predict {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  double rank = share * static_cast<double>(values.size() - 1);
  std::size_t low = static_cast<std::size_t>(std::floor(rank));
  std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (rank - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace partita::predict
