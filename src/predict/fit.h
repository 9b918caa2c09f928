// The constants from measured data: Levenberg-Marquardt on log errors with Huber weights. <= 10 s for MIGPerf.
#pragma once

#include "predict/cases.h"
#include "predict/constants.h"

namespace partita::predict {

struct FitReport {
  Constants constants;
  int rows = 0, left_out = 0;
  double mean = 0, median = 0, p90 = 0;  // |predicted / measured throughput - 1| of the rows used
};

// Fits every constant that key_table() marks and one Host for each that the rows name; the first named is the
// reference. `invalid` when a set has too few rows.
Result<FitReport> fit(Library& library, const DataSet& set);

// Constants for the time alone, without spreads: what leaving one network out repeats.
Result<Constants> fit_time(const std::vector<Case>& cases, const Constants& start, int max_iterations = 60);

}  // namespace partita::predict
