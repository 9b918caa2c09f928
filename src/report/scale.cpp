#include <algorithm>

#include "report/report.h"

namespace partita::report {

void logarithmic_if_wide(Figure& figure) {
  constexpr double kWide = 30;
  double least = 0, most = 0;
  for (const Series& series : figure.series) {
    for (const auto& cell : series.values) {
      if (!cell || cell->value <= 0) continue;
      least = least > 0 ? std::min(least, cell->value) : cell->value;
      most = std::max(most, cell->value);
    }
  }
  if (least == 0 || most < kWide * least) return;
  figure.log_y = true;
  figure.y_title += ", logarithmic scale";
}

}  // namespace partita::report
