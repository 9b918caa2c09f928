#include "study/measured_lines.h"

#include <algorithm>

#include <fmt/format.h>

namespace partita::study {
namespace {

constexpr std::size_t kMostLatencies = 10'000'000;
constexpr double kLate_s = 3;  // that the last line may be behind the end

std::optional<double> quantile(std::vector<double>& values, double q) {
  if (values.empty()) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(
      std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size()))));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

void MeasuredLines::take(const std::string& text, double at_s) {
  longest_wait_s_ = std::max(longest_wait_s_, at_s - last_at_s_);
  last_at_s_ = at_s;
  ++lines_;
  const auto line = read_worker_line(text);
  const auto added = line ? add(*line) : std::unexpected(line.error());
  if (!added && !problem_) problem_ = added.error().message;
}

Result<void> MeasuredLines::add(const WorkerLine& line) {
  if (line.device) device_ = line.device;
  if (line.error) {
    problem_ = line.error;
    return {};
  }
  if (line.t_s < last_t_)
    return fail(
        ErrorCode::invalid,
        fmt::format("worker line: \"t\": expected {:g} or more, as in the line before, found {:g}", last_t_, line.t_s));
  if (line.t_s > seconds_ + kLate_s)
    return fail(
        ErrorCode::invalid,
        fmt::format("worker line: \"t\": expected seconds within a run of {:g} s, found {:g}", seconds_, line.t_s));
  // An interval counts from the line before it on.
  if (last_t_ >= warmup_s_) {
    if (!first_t_) first_t_ = last_t_;
    samples_ += line.samples;
    if (latencies_.size() < kMostLatencies)
      latencies_.insert(latencies_.end(), line.latency_ms.begin(), line.latency_ms.end());
  }
  last_t_ = line.t_s;
  return {};
}

std::optional<std::string> MeasuredLines::silence(double watched_s) const {
  const double waited_s = watched_s - last_at_s_;
  if (waited_s <= std::max(1.0, 2 * longest_wait_s_)) return std::nullopt;
  return fmt::format("stalled: no line in the last {:.1f} s of {:.1f} s", waited_s, watched_s);
}

void MeasuredLines::finish(MeasuredResult& result, std::optional<double> watched_s) {
  result.lines = lines_;
  result.samples = samples_;
  result.seconds = first_t_ ? last_t_ - *first_t_ : 0;
  result.p50_ms = quantile(latencies_, 0.50);
  result.p99_ms = quantile(latencies_, 0.99);
  result.device = device_;
  if (problem_) result.problem = problem_;
  if (result.problem) return;
  if (lines_ == 0)
    result.problem = "printed no line";
  else if (result.seconds <= 0)
    result.problem = warmup_s_ > 0 ? fmt::format("no interval ended after the warm-up of {:g} s", warmup_s_)
                                   : fmt::format("no interval ended within {:g} s", seconds_);
  else if (watched_s)
    result.problem = silence(*watched_s);
}

}  // namespace partita::study
