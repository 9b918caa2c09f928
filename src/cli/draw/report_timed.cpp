// plan --fleet as a page: what holds the demand, and timelines of jobs and timed leases.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/draw/draw_fleet.h"

namespace partita::cli {
namespace {

constexpr std::size_t kMostRows = 24;  // instances in a figure

struct Row {
  std::string name;
  int slices = 0;
  double from = 0, until = 0;  // the instance is there
  std::vector<std::pair<double, double>> works;
};

// One row per instance: its compute slices while it works, 0 while it is idle, nothing while it is not there.
report::Figure timeline(const std::string& title, std::vector<Row> rows) {
  report::Figure out;
  out.shape = report::Figure::Shape::timeline;
  out.title = title;
  out.x_title = "time (s)";
  out.y_title = "compute slices that work";
  out.x_is_number = true;
  if (rows.size() > kMostRows) {
    out.note = fmt::format("{} more are in the JSON output.", count_of(rows.size() - kMostRows, "instance"));
    rows.resize(kMostRows);
  }
  std::set<double> times{0};
  for (const auto& row : rows) {
    times.insert({row.from, row.until});
    for (const auto& [begin, end] : row.works) times.insert({begin, end});
  }
  for (const double time : times) out.x.push_back(fmt::format("{:.6g}", time));
  for (const auto& row : rows) {
    report::Series series{row.name, report::Kind::predicted, {}};
    for (const double time : times) {
      const auto works = [&](const auto& span) { return span.first <= time && time < span.second; };
      if (time < row.from || time >= row.until)
        series.values.emplace_back();
      else
        series.values.push_back(
            report::Value{std::ranges::any_of(row.works, works) ? static_cast<double>(row.slices) : 0.0, {}, {}});
    }
    out.series.push_back(std::move(series));
  }
  return out;
}

std::string instance_name(const fleet::Room& room, int kind, std::size_t gpu, const plan::Placed& placed) {
  return fmt::format("GPU {} {}@{}", gpu, profile_of(room, kind, placed.profile).name, placed.start);
}

report::Section jobs_section(const fleet::BatchPlan& plan) {
  std::vector<Row> rows;
  report::Table table{"Jobs",
                      {"job", "GPU", "instance", "begins (s)", "ends (s)"},
                      {report::Kind::input, report::Kind::predicted, report::Kind::predicted, report::Kind::predicted,
                       report::Kind::predicted},
                      {}};
  for (std::size_t g = 0; g < plan.schedule.gpus.size(); ++g) {
    const auto& gpu = plan.schedule.gpus[g];
    for (const auto& instance : gpu.instances) {
      Row row{instance_name(plan.room, gpu.kind, g, instance.placed),
              profile_of(plan.room, gpu.kind, instance.placed.profile).compute_slices,
              instance.ready_s,
              instance.destroy_s.value_or(plan.schedule.makespan_s),
              {}};
      for (const auto& run : instance.runs) {
        row.works.emplace_back(run.begin_s, run.end_s);
        table.rows.push_back({plan.batch.jobs[static_cast<std::size_t>(run.job)].name, std::to_string(g), row.name,
                              fmt::format("{:.1f}", run.begin_s), fmt::format("{:.1f}", run.end_s)});
      }
      rows.push_back(std::move(row));
    }
  }
  report::Section out{"Jobs", {}, {}};
  out.paragraphs.push_back(
      fmt::format("{} on {}: the last ends at {:.1f} s, on average they end at {:.1f} s. No schedule is below {:.1f} s "
                  "in what is made least.",
                  count_of(plan.batch.jobs.size(), "job"), count_of(plan.schedule.gpus.size(), "GPU"),
                  plan.schedule.makespan_s, plan.schedule.mean_completion_s, plan.schedule.bound_s));
  out.parts.emplace_back(timeline("Instances over time", std::move(rows)));
  out.parts.emplace_back(std::move(table));
  return out;
}

report::Section leases_section(const fleet::LeasePlan& plan) {
  std::vector<Row> rows;
  for (std::size_t g = 0; g < plan.calendar.gpus.size(); ++g) {
    const auto& gpu = plan.calendar.gpus[g];
    for (const auto& span : gpu.spans)
      rows.push_back({plan.leases[static_cast<std::size_t>(span.lease)].name + ", " +
                          instance_name(plan.room, gpu.kind, g, span.placed),
                      profile_of(plan.room, gpu.kind, span.placed.profile).compute_slices,
                      span.from_s,
                      span.until_s,
                      {{span.from_s, span.until_s}}});
  }
  report::Section out{"Leases", {}, {}};
  out.paragraphs.push_back(fmt::format("No lease waits on {}; at most {} run at once.",
                                       count_of(plan.calendar.gpus.size(), "GPU"), plan.calendar.most_at_once));
  out.parts.emplace_back(timeline("Leases over time", std::move(rows)));
  return out;
}

report::Section plan_section(const FleetAnswer& answer) {
  const auto sums = fleet::totals(answer.fleet.fleet, answer.plan);
  report::Section out{"Steady demand", {}, {}};
  out.paragraphs.push_back(fmt::format("{} in use{}.", count_of(static_cast<std::size_t>(sums.gpus_used), "GPU"),
                                       answer.plan.optimal() ? ", proven least" : ""));
  report::Table table{"What serves",
                      {"wanted", "amount", "by"},
                      {report::Kind::input, report::Kind::input, report::Kind::predicted},
                      {}};
  for (std::size_t w = 0; w < answer.demand.wants.size(); ++w) {
    std::vector<std::string> by;
    for (const auto& each : served(answer, w)) {
      const auto& board = *answer.fleet.fleet.kinds[static_cast<std::size_t>(each.kind)].board;
      by.push_back(fmt::format("{} {}", each.instances, board.profiles[static_cast<std::size_t>(each.profile)].name));
    }
    table.rows.push_back(
        {answer.demand.wants[w].name, fmt::format("{:g}", answer.demand.wants[w].amount), join(by, ", ")});
  }
  out.parts.emplace_back(std::move(table));
  for (const auto& each : answer.confirmed)
    out.paragraphs.push_back(
        fmt::format("Simulated: {} meets its limit in {} of {} runs; {:.2f} % of requests are late.", each.name,
                    each.met, each.runs, 100 * each.late_share));
  return out;
}

}  // namespace

report::Report fleet_report(const FleetAnswer& answer, const std::string& command) {
  report::Report out;
  out.title = "Fleet plan";
  out.command = command;
  if (answer.steady) out.sections.push_back(plan_section(answer));
  if (answer.leases) out.sections.push_back(leases_section(*answer.leases));
  if (answer.batch) out.sections.push_back(jobs_section(*answer.batch));
  for (const auto& section : out.sections) out.answer.push_back(section.paragraphs.front());
  if (answer.leases || answer.batch)
    out.rests_on.push_back(
        answer.assumed_times.empty()
            ? "Times to create and destroy instances: data/measured/mig_reconfig_times.csv, or the demand file's."
            : "Times to create and destroy instances: the longest known of other boards, for " +
                  join(answer.assumed_times, ", ") + ".");
  return out;
}

}  // namespace partita::cli
