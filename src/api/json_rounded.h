// Predicted figures in JSON. Inside api/ only.
#pragma once

#include <cmath>

namespace partita::api {

// Four significant digits: more would claim what no prediction has.
inline double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace partita::api
