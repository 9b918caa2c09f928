// Several reports as one JSON array, as a page holds it.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace partita::report {

std::string reports_json(const std::vector<Report>& reports);

}  // namespace partita::report
