#include "cli/draw/policy_answer.h"

#include <algorithm>
#include <cmath>

namespace partita::cli {

const catalog::Profile& profile_of(const PolicyAnswer& answer, std::size_t profile) {
  return answer.board->profiles[static_cast<std::size_t>(answer.trace.profiles[profile])];
}

PolicyTotals totals(const PolicyAnswer& answer, const PolicyRun& run) {
  PolicyTotals out;
  double slices_asked = 0;
  double slices = 0;
  double waiting = 0;
  for (std::size_t p = 0; p < run.result.profiles.size(); ++p) {
    const auto& served = run.result.profiles[p];
    const double size = profile_of(answer, p).memory_slices;
    out.asked += served.asked;
    out.accepted += served.accepted;
    out.waited += served.waited;
    waiting += served.waiting;
    slices_asked += size * static_cast<double>(served.asked);
    slices += size * static_cast<double>(served.accepted);
  }
  if (out.asked > 0) {
    out.requests = static_cast<double>(out.accepted) / static_cast<double>(out.asked);
    out.slices = slices / slices_asked;
  }
  if (out.accepted > 0) {
    out.mean_wait = waiting / static_cast<double>(out.accepted);
    constexpr double kQuantile = 0.99;
    const auto rank = static_cast<std::int64_t>(std::ceil(kQuantile * static_cast<double>(out.accepted)));
    auto waits = run.result.waits;  // of those that waited; the others are 0
    const auto at = rank - (out.accepted - out.waited) - 1;
    if (at >= 0 && at < static_cast<std::int64_t>(waits.size())) {
      std::ranges::nth_element(waits, waits.begin() + at);
      out.long_wait = waits[static_cast<std::size_t>(at)];
    }
  }
  const auto count = static_cast<double>(run.result.samples.size());
  for (const auto& sample : run.result.samples) {
    out.used = out.used.value_or(0) + (sample.used / count);
    out.fragmentation = out.fragmentation.value_or(0) + (sample.fragmentation / count);
  }
  return out;
}

std::optional<double> offered_load(const PolicyAnswer& answer) {
  const auto& requests = answer.trace.requests;
  const double last = requests.back().arrival;
  const double span = last - requests.front().arrival;
  if (span <= 0) return std::nullopt;
  double work = 0;
  for (const auto& request : requests)
    work += std::min(request.duration, last - request.arrival) * profile_of(answer, request.profile).memory_slices;
  return work / (span * answer.board->memory_slices * answer.gpus);
}

}  // namespace partita::cli
