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

struct Kept {
  double during = 0, before = 0;  // lowest interval over the mean before the first change
};
Kept kept(const ScenarioSpec& spec, const Scenario& scenario, const std::vector<double>& rates) {
  const double step = scenario.sample_interval_s;
  const double before = mean_rate(rates, step, scenario.warmup_s, spec.changes.front().at_s);
  if (before <= 0) return {};
  double least = 1e300, least_before = 1e300;
  const auto begin = static_cast<std::size_t>(std::ceil(scenario.warmup_s / step));
  const auto end = static_cast<std::size_t>(spec.changes.front().at_s / step);
  for (std::size_t i = begin; i < end && i < rates.size(); ++i) least_before = std::min(least_before, rates[i]);
  for (const ChangeSpec& change : spec.changes) {
    const auto from = static_cast<std::size_t>(change.at_s / step);
    const auto to = static_cast<std::size_t>((change.at_s + change.down_s) / step);
    for (std::size_t i = from; i <= to && i < rates.size(); ++i) least = std::min(least, rates[i]);
  }
  return {least / before, least_before / before};
}

std::string change_in_words(const ChangeSpec& change) {
  std::vector<std::string> made;
  for (const Created& c : change.created) made.push_back(fmt::format("{} ({})", c.server, c.place.name));
  return fmt::format("at {} s {} {} destroyed and {} created, which takes {:.2f} s", figure_of(change.at_s),
                     list_of(change.destroyed), change.destroyed.size() == 1 ? "is" : "are", list_of(made),
                     change.down_s);
}

// What a tenant whose instance changed got while it was served.
void say_touched(const Scenario& scenario, const TenantSpec& tenant, const TenantResult& result,
                 report::Report& report) {
  const auto& rates = result.throughput_over_time;
  const auto served = [](double rate) { return rate > 0; };
  const auto first = std::ranges::find_if(rates, served);
  if (first == rates.end()) {
    report.answer.push_back(sentence(fmt::format("{} is never served", tenant.name)));
    return;
  }
  const auto last = std::find_if(rates.rbegin(), rates.rend(), served).base();
  const double step = scenario.sample_interval_s;
  const double from = static_cast<double>(first - rates.begin()) * step,
               to = static_cast<double>(last - rates.begin()) * step;
  report.answer.push_back(
      fmt::format("{}, on an instance made meanwhile, is served from {} to {} s with {} samples/s; its longest wait "
                  "for an answer is {} (simulated).",
                  capital(tenant.name), figure_of(from), figure_of(to),
                  figure_of(mean_rate(rates, step, from, to) * tenant.job.settings.batch), milliseconds(result.max_s)));
}

}  // namespace

void describe_changes(const ScenarioSpec& spec, const Scenario& scenario, const SimulationResult& result,
                      report::Report& report, report::Section& section) {
  std::vector<std::string> untouched;
  Kept worst;
  std::string who;
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    const TenantSpec& tenant = spec.tenants[i];
    if (idle(tenant.arrivals) || touched(spec, tenant.server) || !result.tenants[i].admitted) continue;
    untouched.push_back(tenant.name);
    const Kept share = kept(spec, scenario, result.tenants[i].throughput_over_time);
    if (who.empty() || share.during * worst.before < worst.during * share.before) {
      worst = share;
      who = tenant.name;
    }
  }
  for (const ChangeSpec& change : spec.changes) section.paragraphs.push_back(sentence(change_in_words(change)));
  if (untouched.empty()) {
    report.answer.push_back(sentence(fmt::format("{}: every tenant's instance changes, none runs on", spec.name)));
  } else {
    const bool undisturbed = worst.during >= 0.95 * worst.before;
    report.answer.push_back(
        fmt::format("{}: {} run{} on while the layout changes. Hit hardest is {}: its lowest {} s during a change has "
                    "{} of its mean rate "
                    "before, its lowest {} s before any change {} (simulated).",
                    undisturbed ? "Yes" : "Not without loss", list_of(untouched), untouched.size() == 1 ? "s" : "", who,
                    figure_of(scenario.sample_interval_s), percent(worst.during), figure_of(scenario.sample_interval_s),
                    percent(worst.before)));
  }
  for (const ChangeSpec& change : spec.changes) report.answer.push_back(sentence(change_in_words(change)));
  for (std::size_t i = 0; i < spec.tenants.size(); ++i) {
    const TenantSpec& tenant = spec.tenants[i];
    if (!idle(tenant.arrivals) && touched(spec, tenant.server))
      say_touched(scenario, tenant, result.tenants[i], report);
  }
  section.parts.emplace_back(figure(spec, scenario, result));
}

}  // namespace partita::study
