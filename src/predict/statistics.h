// Mean and quantiles of small samples.
#pragma once

#include <vector>

namespace partita::predict {

double mean(const std::vector<double>& values);             // 0 for none
double quantile(std::vector<double> values, double share);  // linear between ranks; 0 for none

}  // namespace partita::predict
