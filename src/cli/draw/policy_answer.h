// How policies served a trace: for people, as a report, and for programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "catalog/board.h"
#include "cli/draw/terminal.h"
#include "fleet/online/online_run.h"
#include "fleet/online/trace.h"
#include "report/report.h"

namespace partita::cli {

struct PolicyRun {
  std::string name;  // "potential", "potential, moving"
  fleet::RunResult result;
};

struct PolicyAnswer {
  std::string file;
  std::shared_ptr<const catalog::Board> board;
  std::uint32_t gpus = 0;
  double patience = 0;          // seconds
  std::optional<double> pause;  // seconds, of a moved job
  fleet::Trace trace;
  std::vector<PolicyRun> runs;
  std::string command;
};

// Sums and shares of one run.
struct PolicyTotals {
  std::int64_t asked = 0, accepted = 0, waited = 0;
  double requests = 0, slices = 0;  // shares accepted
  double mean_wait = 0;             // seconds, over the accepted
  double long_wait = 0;             // 99th percentile, over the accepted
  // Means over time until the last arrival; nullopt: all arrive at one moment.
  std::optional<double> used;  // share of memory slices in use
  std::optional<double> fragmentation;
};
PolicyTotals totals(const PolicyAnswer& answer, const PolicyRun& run);
// Memory slices asked for, times their durations, over those that the GPUs have, both until the last arrival; nullopt:
// all arrive at one moment.
std::optional<double> offered_load(const PolicyAnswer& answer);
const catalog::Profile& profile_of(const PolicyAnswer& answer, std::size_t profile);

std::string draw_policies(const Look& look, const PolicyAnswer& answer);
report::Report report_on_policies(const PolicyAnswer& answer);
std::string to_json(const PolicyAnswer& answer);

}  // namespace partita::cli
