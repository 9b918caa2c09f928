// How policies served a trace, for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/duration.h"
#include "base/text.h"
#include "cli/draw/policy_answer.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string percent(const std::optional<double>& share) { return share ? percent(*share) : "-"; }

std::string seconds(double value) {
  constexpr double kShort = 9.95;
  if (value <= 0) return "0s";
  if (value < kShort) return value < 0.05 ? "< 0.1s" : fmt::format("{:.1f}s", value);
  return to_string(std::chrono::milliseconds(std::llround(value) * 1000));
}

std::string load_in_words(double load) {
  return fmt::format("they ask for {} of its memory slices until the last arrives", percent(load));
}

// The best value of a column stands out.
Tone tone(double value, double best) { return value >= best - 1e-12 ? Tone::good : Tone::plain; }

std::string draw_totals(const Look& look, const PolicyAnswer& answer) {
  std::vector<PolicyTotals> sums;
  for (const auto& run : answer.runs) sums.push_back(totals(answer, run));
  const auto best = [&](double PolicyTotals::* member) { return std::ranges::max(sums, {}, member).*member; };
  std::vector<Column> columns{{"policy"}, {"accepted", true}, {"requests", true}, {"slices", true}};
  if (answer.patience > 0) columns.insert(columns.end(), {{"waited", true}, {"mean wait", true}, {"p99 wait", true}});
  if (answer.pause) columns.push_back({"moves", true});
  columns.insert(columns.end(), {{"in use", true}, {"fragmented", true}});
  Table table(columns);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto& sum = sums[i];
    std::vector<Cell> row{{answer.runs[i].name, Tone::strong},
                          {std::to_string(sum.accepted)},
                          {percent(sum.requests), tone(sum.requests, best(&PolicyTotals::requests))},
                          {percent(sum.slices), tone(sum.slices, best(&PolicyTotals::slices))}};
    if (answer.patience > 0) {
      row.push_back({std::to_string(sum.waited)});
      row.push_back({seconds(sum.mean_wait)});
      row.push_back({seconds(sum.long_wait)});
    }
    if (answer.pause) row.push_back({std::to_string(answer.runs[i].result.moves)});
    row.push_back({percent(sum.used)});
    row.push_back({percent(sum.fragmentation)});
    table.add(std::move(row));
  }
  return table.draw(look);
}

std::string draw_profiles(const Look& look, const PolicyAnswer& answer) {
  std::vector<Column> columns{{"accepted of"}, {"asked", true}};
  for (const auto& run : answer.runs) columns.push_back({run.name, true});
  Table table(columns);
  for (std::size_t p = 0; p < answer.trace.profiles.size(); ++p) {
    const auto asked = answer.runs.front().result.profiles[p].asked;
    std::vector<Cell> row{{profile_of(answer, p).name, Tone::strong}, {std::to_string(asked)}};
    for (const auto& run : answer.runs)
      row.push_back({asked > 0
                         ? percent(static_cast<double>(run.result.profiles[p].accepted) / static_cast<double>(asked))
                         : "-"});
    table.add(std::move(row));
  }
  return table.draw(look);
}

}  // namespace

std::string draw_policies(const Look& look, const PolicyAnswer& answer) {
  std::string out = paint(
      look, Tone::strong,
      fmt::format("{} on {} {}", count_of(answer.trace.requests.size(), "request"), answer.gpus, answer.board->id));
  const auto load = offered_load(answer);
  out += ", simulated; " + (load ? load_in_words(*load) : "all arrive at one moment") + '\n';
  if (answer.trace.without_gpu > 0)
    out += fmt::format("  {} without a GPU left out\n", count_of(answer.trace.without_gpu, "row"));
  if (answer.trace.split > 0)
    out += fmt::format("  {} for several GPUs became a request for each\n", count_of(answer.trace.split, "row"));
  return out + '\n' + draw_totals(look, answer) + '\n' + draw_profiles(look, answer);
}

}  // namespace partita::cli
