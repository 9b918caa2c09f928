// Numbers and lists in the words of a report.
#pragma once

#include <string>
#include <vector>

#include "predict/model.h"
#include "report/report.h"

namespace partita::study {

std::string figure_of(double value);                         // three significant digits: "1,230", "45.6", "0.789"
std::string percent(double share);                           // "4.3 %"
std::string milliseconds(double seconds);                    // "12.3 ms", "4.5 s", "unbounded" for infinity
std::string gibibytes(double mib);                           // "4.75 GiB"
std::string list_of(const std::vector<std::string>& items);  // "a, b and c"
std::string capital(std::string text);                       // first letter
std::string interval_of(const predict::Estimate& estimate);  // "1,230 (1,010 to 1,490)"
report::Value value_of(const predict::Estimate& estimate);
// "MIGPerf's" as a sentence: first letter large, a full stop at the end.
std::string sentence(std::string text);

}  // namespace partita::study
