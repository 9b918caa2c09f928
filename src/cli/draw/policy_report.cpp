// How policies served a trace, as a report with figures.
#include <fmt/format.h>

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "cli/draw/policy_answer.h"

namespace partita::cli {
namespace {

using report::Figure;
using report::Kind;
using report::Series;
using report::Table;
using report::Value;

constexpr double kPercent = 100;

std::string percent(double share) { return fmt::format("{:.2f}", kPercent * share); }
std::string percent(const std::optional<double>& share) { return share ? percent(*share) : "-"; }

Figure accepted_by_profile(const PolicyAnswer& answer) {
  Figure out;
  out.shape = Figure::Shape::grouped_bars;
  out.title = "Accepted requests by profile";
  out.x_title = "profile";
  out.y_title = "accepted (%)";
  for (std::size_t p = 0; p < answer.trace.profiles.size(); ++p) out.x.push_back(profile_of(answer, p).name);
  for (const auto& run : answer.runs) {
    Series series{run.name, Kind::simulated, {}};
    for (const auto& served : run.result.profiles)
      series.values.push_back(
          served.asked > 0
              ? std::optional(
                    Value{kPercent * static_cast<double>(served.accepted) / static_cast<double>(served.asked), {}, {}})
              : std::nullopt);
    out.series.push_back(std::move(series));
  }
  return out;
}

template <class Pick>
Figure over_time(const PolicyAnswer& answer, std::string title, std::string unit, const Pick& pick) {
  Figure out;
  out.shape = Figure::Shape::lines;
  out.title = std::move(title);
  out.x_title = "time (h)";
  out.y_title = std::move(unit);
  out.x_is_number = true;
  constexpr double kHour = 3600;
  for (const auto& sample : answer.runs.front().result.samples)
    out.x.push_back(fmt::format("{:.6g}", sample.time / kHour));
  for (const auto& run : answer.runs) {
    Series series{run.name, Kind::simulated, {}};
    for (const auto& sample : run.result.samples) series.values.push_back(Value{pick(sample), {}, {}});
    out.series.push_back(std::move(series));
  }
  return out;
}

Table totals_table(const PolicyAnswer& answer) {
  Table out;
  out.title = "Policies";
  out.columns = {"policy",
                 "accepted",
                 "of requests (%)",
                 "of memory slices (%)",
                 "waited",
                 "mean wait (s)",
                 "99 % wait at most (s)",
                 "moves",
                 "slices in use (%)",
                 "fragmented (%)"};
  out.kinds.assign(out.columns.size(), Kind::simulated);
  out.kinds.front() = Kind::input;
  for (const auto& run : answer.runs) {
    const auto sum = totals(answer, run);
    out.rows.push_back({run.name, std::to_string(sum.accepted), percent(sum.requests), percent(sum.slices),
                        std::to_string(sum.waited), fmt::format("{:.1f}", sum.mean_wait),
                        fmt::format("{:.1f}", sum.long_wait), std::to_string(run.result.moves), percent(sum.used),
                        percent(sum.fragmentation)});
  }
  return out;
}

Table profiles_table(const PolicyAnswer& answer) {
  Table out;
  out.title = "Accepted by profile (requests and memory slices)";
  out.columns = {"profile", "memory slices each", "asked"};
  out.kinds = {Kind::input, Kind::input, Kind::input};
  for (const auto& run : answer.runs) {
    out.columns.push_back(run.name);
    out.columns.push_back(run.name + ", slices");
    out.kinds.insert(out.kinds.end(), 2, Kind::simulated);
  }
  for (std::size_t p = 0; p < answer.trace.profiles.size(); ++p) {
    const int slices = profile_of(answer, p).memory_slices;
    std::vector<std::string> row{profile_of(answer, p).name, std::to_string(slices),
                                 std::to_string(answer.runs.front().result.profiles[p].asked)};
    for (const auto& run : answer.runs) {
      row.push_back(std::to_string(run.result.profiles[p].accepted));
      row.push_back(std::to_string(run.result.profiles[p].accepted * slices));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::vector<std::string> in_words(const PolicyAnswer& answer) {
  std::vector<std::string> out;
  std::vector<PolicyTotals> sums;
  for (const auto& run : answer.runs) sums.push_back(totals(answer, run));
  const auto best = std::ranges::max_element(sums, {}, &PolicyTotals::slices);
  const auto worst = std::ranges::min_element(sums, {}, &PolicyTotals::slices);
  const auto name = [&](auto of) { return answer.runs[static_cast<std::size_t>(of - sums.begin())].name; };
  if (sums.size() > 1 && best->slices == worst->slices &&
      std::ranges::all_of(sums, [&](const auto& sum) { return sum.requests == best->requests; })) {
    out.push_back(
        fmt::format("All policies accept the same: {} % of the requests and {} % of the memory slices asked for.",
                    percent(best->requests), percent(best->slices)));
    return out;
  }
  out.push_back(fmt::format("{} accepts most: {} % of the requests and {} % of the memory slices asked for.",
                            name(best), percent(best->requests), percent(best->slices)));
  if (best != worst)
    out.push_back(fmt::format("{} accepts least: {} % of the requests and {} % of the slices.", name(worst),
                              percent(worst->requests), percent(worst->slices)));
  return out;
}

std::vector<std::string> rests_on(const PolicyAnswer& answer) {
  std::vector<std::string> out{
      fmt::format("The trace {}: {}.", answer.file, count_of(answer.trace.requests.size(), "request")),
      answer.patience > 0
          ? fmt::format("A request that finds no room waits up to {}; smaller ones that fit pass it.",
                        to_string(std::chrono::milliseconds(static_cast<std::int64_t>(answer.patience * 1000))))
          : "A request that finds no room is lost at once.",
      "Fragmented: the share of the free memory slices in which requests, by the trace's mix of profiles, find no "
      "room. "
      "In use and fragmented are means over time until the last arrival."};
  if (answer.pause)
    out.push_back(
        fmt::format("Moving: at most one instance is moved per accepted request, only to make room, and its job "
                    "ends {} s later.",
                    *answer.pause));
  if (answer.trace.by_share)
    out.push_back(
        "A share of a GPU asks for the smallest profile that has at least this share of the compute slices and of the "
        "memory slices.");
  if (answer.trace.without_gpu > 0)
    out.push_back(fmt::format("Left out: {} without a GPU.", count_of(answer.trace.without_gpu, "row")));
  if (answer.trace.split > 0)
    out.push_back(fmt::format("{} for several GPUs became a request for each, not placed together.",
                              count_of(answer.trace.split, "row")));
  return out;
}

}  // namespace

report::Report report_on_policies(const PolicyAnswer& answer) {
  report::Report out;
  out.title = "Placement policies on a trace";
  out.question = fmt::format("How would each placement policy have served {} on {} ({})?",
                             count_of(answer.trace.requests.size(), "request"), count_of(answer.gpus, "GPU"),
                             answer.board->product);
  out.answer = in_words(answer);
  report::Section served{"Served", {}, {}};
  const auto load = offered_load(answer);
  served.paragraphs.push_back(
      load ? fmt::format("The trace asks for {} % of the memory slices until its last request arrives.", percent(*load))
           : "All requests of the trace arrive at one moment.");
  served.parts = {totals_table(answer), accepted_by_profile(answer), profiles_table(answer)};
  out.sections.push_back(std::move(served));
  out.rests_on = rests_on(answer);
  out.command = answer.command;
  if (!load) return out;
  report::Section time{"Over time", {}, {}};
  time.parts.emplace_back(over_time(answer, "Memory slices in use", "in use (%)",
                                    [](const auto& sample) { return kPercent * sample.used; }));
  time.parts.emplace_back(over_time(answer, "Fragmentation", "free slices without room for the next request (%)",
                                    [](const auto& sample) { return kPercent * sample.fragmentation; }));
  if (answer.patience > 0)
    time.parts.emplace_back(over_time(answer, "Requests that wait", "waiting (requests)",
                                      [](const auto& sample) { return static_cast<double>(sample.waiting); }));
  out.sections.push_back(std::move(time));
  return out;
}

}  // namespace partita::cli
