// The user's own measured points: one to four of them set three factors of the model for their workload (device,
// bandwidth, host) as the most probable ones given the points and how far such factors usually lie from 1.
#pragma once

#include <string>
#include <vector>

#include "predict/model.h"

namespace partita::predict {

struct Point {
  Partition partition;
  int batch = 1;
  double step_ms = 0;
};

// `invalid` for no points, more than kMostPoints, a time that is not positive, or points of several boards. Points that
// contradict each other (two times for one place, or a larger partition that is slower) are no error: the calibration
// says so in its notes and its residual grows, with it all intervals and what next_point states.
constexpr std::size_t kMostPoints = 1000;
Result<Calibration> calibrate(const Predictor& predictor, const std::vector<Point>& points);

// The place whose measurement narrows the predictions of all `places` most; nullopt when there is none. Its own time
// need not be known.
struct NextPoint {
  std::size_t place = 0;
  double spread_before = 0, spread_after = 0;  // mean log-scale deviation over the places
};
std::optional<NextPoint> next_point(const Predictor& predictor, const std::vector<Point>& places,
                                    const Calibration& calibration);

// A workload of which nothing is known but its step time at one batch on the largest and on the smallest profile:
//   T(g) = max( T_largest, T_smallest * w(g) / w(smallest) )
//   w(g) = a * SM_largest / SM + (1 - a) * bandwidth_largest / bandwidth      a: two_points_compute of the constants
struct TwoPoints {
  Point largest, smallest;
};
// Time on another partition of the same board at the same batch, with its interval. One that is smaller than both
// points or larger than both lies between the nearer point's time and that time scaled: its interval holds all of that.
// `invalid` when the two are the same partition, of different batches or boards, or contradict each other (the larger
// is the slower one, or faster by far more than its size).
Result<Estimate> from_two_points(const Constants& constants, const TwoPoints& points, const Partition& partition);

}  // namespace partita::predict
