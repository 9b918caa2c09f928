#include "study/timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "study/words.h"

namespace partita::study {
namespace {

bool touched(const ScenarioSpec& spec, const std::string& server) {
  return std::ranges::any_of(spec.changes, [&](const ChangeSpec& change) {
    return std::ranges::find(change.destroyed, server) != change.destroyed.end() ||
           std::ranges::find(change.created, server, &Created::server) != change.created.end();
  });
}

bool idle(const Arrivals& a) { return a.kind == Arrivals::Kind::poisson && a.rate_per_s == 0; }

// Mean of the intervals that lie within from..to.
double mean_rate(const std::vector<double>& rates, double interval, double from, double to) {
  const auto first = static_cast<std::size_t>(std::ceil(from / interval - 1e-9));
  const auto last = std::min(rates.size(), static_cast<std::size_t>(std::floor(to / interval + 1e-9)));
  if (first >= last) return 0;
  return std::accumulate(rates.begin() + static_cast<std::ptrdiff_t>(first),
                         rates.begin() + static_cast<std::ptrdiff_t>(last), 0.0) /
         static_cast<double>(last - first);
}

report::Figure figure(const ScenarioSpec& spec, const Scenario& scenario, const SimulationResult& result) {
  report::Figure f;
  f.shape = report::Figure::Shape::timeline;
  f.title = spec.name + ": throughput over time";
  f.x_title = "time (s)";
  f.y_title = "throughput (samples/s)";
  f.x_is_number = true;
  std::size_t points = 0;
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    const auto& rates = result.tenants[i].throughput_over_time;
    if (idle(spec.tenants[i].arrivals)) continue;
    points = std::max(points, rates.size());
    report::Series series{spec.tenants[i].name, report::Kind::simulated, {}};
    for (const double rate : rates)
      series.values.push_back(report::Value{rate * spec.tenants[i].job.settings.batch, {}, {}});
    f.series.push_back(std::move(series));
  }
  for (std::size_t i = 0; i < points; ++i)
    f.x.push_back(fmt::format("{:g}", (static_cast<double>(i) + 0.5) * scenario.sample_interval_s));
  std::vector<std::string> changes;
  for (const ChangeSpec& c : spec.changes)
    changes.push_back(fmt::format("{} s to {} s", figure_of(c.at_s), figure_of(c.at_s + c.down_s)));
  f.note = fmt::format("Simulated; means over {} s. Instances are destroyed and created from {}.",
                       figure_of(scenario.sample_interval_s), list_of(changes));
  return f;
}

// The lowest interval during a change, over the mean before the first change.
double kept(const ScenarioSpec& spec, const Scenario& scenario, const std::vector<double>& rates) {
  const double step = scenario.sample_interval_s;
  const double before = mean_rate(rates, step, scenario.warmup_s, spec.changes.front().at_s);
  if (before <= 0) return 0;
  double least = 1e300;
  for (const ChangeSpec& change : spec.changes) {
    const auto from = static_cast<std::size_t>(change.at_s / step);
    const auto to = static_cast<std::size_t>((change.at_s + change.down_s) / step);
    for (std::size_t i = from; i <= to && i < rates.size(); ++i) least = std::min(least, rates[i]);
  }
  return least / before;
}

std::string change_in_words(const ScenarioSpec& spec, const ChangeSpec& change) {
  std::vector<std::string> made;
  for (const Created& c : change.created) made.push_back(fmt::format("{} ({})", c.server, c.place.name));
  static_cast<void>(spec);
  return fmt::format("at {} s {} {} destroyed and {} created, which takes {:.2f} s", figure_of(change.at_s),
                     list_of(change.destroyed), change.destroyed.size() == 1 ? "is" : "are", list_of(made),
                     change.down_s);
}

void say_touched(const ScenarioSpec& spec, const Scenario& scenario, const SimulationResult& result, std::size_t i,
                 report::Report& report) {
  const TenantSpec& tenant = spec.tenants[i];
  const auto& rates = result.tenants[i].throughput_over_time;
  std::vector<std::string> phases;
  double from = 0;
  for (std::size_t c = 0; c <= spec.changes.size(); ++c) {
    const double to = c < spec.changes.size() ? spec.changes[c].at_s : scenario.duration_s;
    phases.push_back(
        fmt::format("{} from {} to {} s",
                    figure_of(mean_rate(rates, scenario.sample_interval_s, from, to) * tenant.job.settings.batch),
                    figure_of(from), figure_of(to)));
    if (c < spec.changes.size()) from = spec.changes[c].at_s + spec.changes[c].down_s;
  }
  report.answer.push_back(
      fmt::format("{}, whose instance changes, gets {} samples/s; its longest wait for an answer is {} (simulated).",
                  capital(tenant.name), list_of(phases), milliseconds(result.tenants[i].max_s)));
}

}  // namespace

void describe_changes(const ScenarioSpec& spec, const Scenario& scenario, const SimulationResult& result,
                      report::Report& report, report::Section& section) {
  std::vector<std::string> untouched;
  double least = 1e300;
  std::string who;
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    const TenantSpec& tenant = spec.tenants[i];
    if (idle(tenant.arrivals) || touched(spec, tenant.server) || !result.tenants[i].admitted) continue;
    untouched.push_back(tenant.name);
    const double share = kept(spec, scenario, result.tenants[i].throughput_over_time);
    if (share < least) {
      least = share;
      who = tenant.name;
    }
  }
  for (const ChangeSpec& change : spec.changes) section.paragraphs.push_back(sentence(change_in_words(spec, change)));
  if (untouched.empty()) {
    report.answer.push_back(sentence(fmt::format("{}: every tenant's instance changes, none runs on", spec.name)));
  } else {
    report.answer.push_back(
        fmt::format("{}: {} run{} on while the layout changes: in the worst {} s during a change {} keeps {} of its "
                    "mean rate before (simulated).",
                    spec.name, list_of(untouched), untouched.size() == 1 ? "s" : "",
                    figure_of(scenario.sample_interval_s), who, percent(least)));
  }
  for (const ChangeSpec& change : spec.changes) report.answer.push_back(sentence(change_in_words(spec, change)));
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    if (!idle(spec.tenants[i].arrivals) && touched(spec, spec.tenants[i].server))
      say_touched(spec, scenario, result, i, report);
  }
  section.parts.emplace_back(figure(spec, scenario, result));
}

}  // namespace partita::study
