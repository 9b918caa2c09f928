#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "study/isolation.h"
#include "study/kinds.h"
#include "study/measured_section.h"
#include "study/scenario_file.h"
#include "study/timeline.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Run {
  ScenarioSpec spec;
  Built built;
  SimulationResult result;
  std::optional<TenantResult> alone;  // the focus without the others, on the same server
};

struct Question {
  std::string focus;
  std::vector<Run> runs;
  double duration_s = 60, warmup_s = 5, interval_s = 0;
};

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(only_keys(study, {"scenarios"}, {"board", "tenants", "focus", "duration_s", "warmup_s", "interval_s"}));
  Question q;
  q.duration_s = TRY(study.number("duration_s", 0.1, 1e6, q.duration_s));
  q.warmup_s = TRY(study.number("warmup_s", 0, 1e6, q.warmup_s));
  if (q.warmup_s >= q.duration_s)
    return study.error("warmup_s",
                       fmt::format("expected less than duration_s = {}, found {}", q.duration_s, q.warmup_s));
  q.interval_s = TRY(study.number("interval_s", 1e-3, 1e6, q.interval_s > 0 ? q.interval_s : q.duration_s / 100));
  const std::string board = TRY(study.text_or("board", ""));
  if (!board.empty()) TRY_VOID(context.board(study, "board"));
  std::vector<TenantSpec> shared;
  if (study.has("tenants")) {
    for (const Fields& row : TRY(study.rows("tenants"))) {
      const TenantSpec one = TRY(read_tenant(row, context));
      const int count = TRY(row.integer("count", 1, kMostAlike, 1));
      for (int i = 1; i <= count; ++i) {
        shared.push_back(one);
        if (count > 1) shared.back().name += fmt::format(" {}", i);
      }
    }
  }
  q.focus = TRY(study.text_or("focus", ""));
  for (const Fields& row : TRY(study.rows("scenarios"))) {
    q.runs.push_back({TRY(read_scenario(row, board, shared, context)), {}, {}, {}});
    const auto& tenants = q.runs.back().spec.tenants;
    if (!q.focus.empty() && std::ranges::none_of(tenants, [&](const auto& t) { return t.name == q.focus; }))
      return row.error("tenants", fmt::format("no tenant is called {}, the study's focus", quote(q.focus)));
  }
  return q;
}

std::size_t focus_of(const Question& q, const Run& run) {
  const auto at = std::ranges::find(run.spec.tenants, q.focus, &TenantSpec::name);
  return at == run.spec.tenants.end() ? 0 : static_cast<std::size_t>(at - run.spec.tenants.begin());
}

Result<void> simulate_all(Question& q, Context& context) {
  for (std::size_t i = 0; i < q.runs.size(); ++i) {
    Run& run = q.runs[i];
    context.progress().step(static_cast<int>(i) + 1, static_cast<int>(q.runs.size()), run.spec.name);
    run.built = TRY(build(run.spec, q.duration_s, q.warmup_s, context));
    if (!run.spec.changes.empty()) run.built.scenario.sample_interval_s = q.interval_s;
    run.result = TRY(simulate(run.built.scenario));
    if (q.focus.empty()) continue;
    if (const TenantResult& r = run.result.tenants[focus_of(q, run)]; r.admitted && r.completed == 0 && !r.overloaded)
      return fail(ErrorCode::invalid,
                  fmt::format("focus: {} completes no request in {}: give it more to do, or more time", q.focus,
                              run.spec.name));
    if (run.spec.tenants.size() == 1) continue;
    run.alone = TRY(simulate(alone(run.built.scenario, focus_of(q, run)))).tenants[focus_of(q, run)];
  }
  return {};
}

double samples_per_s(const Run& run, std::size_t tenant) {
  return run.result.tenants[tenant].throughput_per_s * run.spec.tenants[tenant].job.settings.batch;
}

double others_rate(const Question& q, const Run& run) {
  double sum = 0;
  for (std::size_t i = 0; i < run.spec.tenants.size(); ++i) sum += i == focus_of(q, run) ? 0 : samples_per_s(run, i);
  return sum;
}

// "MIG 3g + 4g (9.86 ms)", or why there is no time.
std::string latency_text(const TenantResult& r) {
  if (!r.admitted) return "not served";
  return r.overloaded || std::isinf(r.p99_s) ? "overload" : milliseconds(r.p99_s);
}

// Infinite where the tenant is not served: that is no short latency.
double p99_of(const TenantResult& r) { return r.admitted ? r.p99_s : std::numeric_limits<double>::infinity(); }

double focus_p99(const Question& q, const Run& run) { return p99_of(run.result.tenants[focus_of(q, run)]); }

// Of those whose requests are answered; nullopt: nobody's are.
std::optional<double> worst_p99(const Run& run) {
  std::optional<double> worst;
  for (const auto& tenant : run.result.tenants)
    if (tenant.admitted && (tenant.completed > 0 || tenant.overloaded))
      worst = std::max(worst.value_or(0), tenant.p99_s);
  return worst;
}

std::string slo_of(const TenantResult& r) { return r.slo_met ? percent(*r.slo_met) : "–"; }

// Tenants alike in number and work are shown in one row.
report::Table tenant_table(const Run& run) {
  using report::Kind;
  report::Table t;
  t.title = run.spec.name + ": tenants";
  t.columns = {"tenant", "server", "samples/s",  "mean latency", "p50",
               "p95",    "p99",    "within SLO", "queue",        "server's time"};
  t.kinds.assign(t.columns.size(), Kind::simulated);
  t.kinds[0] = t.kinds[1] = Kind::input;
  for (std::size_t i = 0; i < run.spec.tenants.size(); ++i) {
    const TenantResult& r = run.result.tenants[i];
    const TenantSpec& spec = run.spec.tenants[i];
    if (!r.admitted) {
      t.rows.push_back({spec.name, spec.server, "does not fit", "–", "–", "–", "–", "–", "–", "–"});
      continue;
    }
    if (r.completed == 0 && !r.overloaded) {
      t.rows.push_back({spec.name, spec.server, "no request", "–", "–", "–", "–", "–", figure_of(r.mean_queue),
                        percent(r.utilization)});
      continue;
    }
    t.rows.push_back({spec.name, spec.server, figure_of(samples_per_s(run, i)), milliseconds(r.mean_latency_s),
                      milliseconds(r.p50_s), milliseconds(r.p95_s), milliseconds(r.p99_s), slo_of(r),
                      figure_of(r.mean_queue), percent(r.utilization)});
  }
  return t;
}

report::Table comparison(const Question& q) {
  using report::Kind;
  report::Table t;
  t.title = fmt::format("{} beside the others", capital(q.focus));
  t.columns = {"scenario",
               "p50",
               "p99",
               "p99 alone there",
               "p99 over alone (times)",
               "within SLO",
               q.focus + " (samples/s)",
               "others (samples/s)",
               "GPU busy"};
  t.kinds.assign(t.columns.size(), Kind::simulated);
  t.kinds[0] = Kind::input;
  for (const Run& run : q.runs) {
    const TenantResult& r = run.result.tenants[focus_of(q, run)];
    double busy = 0;
    for (const double u : run.result.server_utilization)
      busy += u / static_cast<double>(run.result.server_utilization.size());
    t.rows.push_back({run.spec.name, r.admitted ? milliseconds(r.p50_s) : "not served",
                      r.admitted ? milliseconds(r.p99_s) : "–", run.alone ? milliseconds(run.alone->p99_s) : "–",
                      run.alone && run.alone->p99_s > 0 && r.admitted && std::isfinite(r.p99_s)
                          ? fmt::format("{:.2f}", r.p99_s / run.alone->p99_s)
                          : "–",
                      slo_of(r), figure_of(samples_per_s(run, focus_of(q, run))), figure_of(others_rate(q, run)),
                      percent(busy)});
  }
  return t;
}

report::Figure bars(const Question& q, const std::string& title, const std::string& y,
                    const std::function<double(const Run&)>& of) {
  report::Figure f;
  f.title = title;
  f.x_title = "scenario";
  f.y_title = y;
  report::Series series{y, report::Kind::simulated, {}};
  for (const Run& run : q.runs) {
    f.x.push_back(run.spec.name);
    const double value = of(run);
    series.values.push_back(std::isfinite(value) ? std::optional<report::Value>({value, {}, {}}) : std::nullopt);
    if (!std::isfinite(value)) f.note = "No bar: not served, or overloaded: the queue grows without bound.";
  }
  f.series.push_back(std::move(series));
  return f;
}

void say_warnings(const Question& q, report::Report& report) {
  for (const Run& run : q.runs) {
    const auto say = [&](const std::string& what) {
      report.answer.push_back(fmt::format("{}: {}.", run.spec.name, what));
    };
    std::vector<std::string> overloaded, out;
    for (const TenantResult& r : run.result.tenants) {
      if (!r.admitted) out.push_back(r.name);
      if (r.overloaded) overloaded.push_back(r.name);
    }
    if (!out.empty()) say(fmt::format("not served, because memory ends: {}", list_of(out)));
    if (!overloaded.empty())
      say(fmt::format(
          "overload: {} ask{} for more than is there; the queue grows without bound, no latency can be given",
          list_of(overloaded), overloaded.size() == 1 ? "s" : ""));
    for (const std::string& warning : run.built.warnings) say(warning);
  }
}

void say_focus(const Question& q, report::Report& report) {
  const auto p99 = [&](const Run& run) { return focus_p99(q, run); };
  const auto best = std::ranges::min_element(q.runs, {}, p99), worst = std::ranges::max_element(q.runs, {}, p99);
  const auto most = std::ranges::max_element(q.runs, {}, [&](const Run& run) { return others_rate(q, run); });
  const auto isolated = std::ranges::min_element(q.runs, {}, [&](const Run& run) {
    return run.alone && run.alone->p99_s > 0 ? p99(run) / run.alone->p99_s : std::numeric_limits<double>::infinity();
  });
  std::vector<std::string> kept, missed;
  const auto slo = q.runs.front().spec.tenants[focus_of(q, q.runs.front())].slo_s;
  for (const Run& run : q.runs) {
    const bool alone = slo && run.alone && !run.alone->overloaded && run.alone->p99_s > *slo;
    (slo && p99(run) <= *slo ? kept : missed)
        .push_back(fmt::format("{} ({}{})", run.spec.name, latency_text(run.result.tenants[focus_of(q, run)]),
                               alone ? ", alone there " + milliseconds(run.alone->p99_s) : ""));
  }
  if (slo && !kept.empty())
    report.answer.push_back(fmt::format("{}'s p99 stays within its SLO of {} under {} (simulated).", capital(q.focus),
                                        milliseconds(*slo), list_of(kept)));
  if (slo && !missed.empty())
    report.answer.push_back(kept.empty() ? fmt::format("{}'s p99 exceeds its SLO of {} everywhere: {} (simulated).",
                                                       capital(q.focus), milliseconds(*slo), list_of(missed))
                                         : fmt::format("It does not under {}.", list_of(missed)));
  if (std::isfinite(p99(*best))) {
    report.answer.push_back(
        fmt::format("Lowest p99: {} with {}; highest: {} with {}{}.", best->spec.name, milliseconds(p99(*best)),
                    worst->spec.name, latency_text(worst->result.tenants[focus_of(q, *worst)]),
                    std::isfinite(p99(*worst)) ? fmt::format(", {:.1f} times as long", p99(*worst) / p99(*best)) : ""));
  }
  if (const auto& alone_there = isolated->alone; alone_there && std::isfinite(p99(*isolated))) {
    report.answer.push_back(fmt::format(
        "Best isolated: under {} the neighbours raise {}'s p99 from {} to {}, {:.2f} times that of {} alone there.",
        isolated->spec.name, q.focus, milliseconds(alone_there->p99_s), milliseconds(p99(*isolated)),
        p99(*isolated) / alone_there->p99_s, q.focus));
  }
  std::vector<std::string> rates;
  for (const Run& run : q.runs)
    rates.push_back(fmt::format("{} under {}", figure_of(others_rate(q, run)), run.spec.name));
  report.answer.push_back(
      fmt::format("The neighbours together get, in samples/s, {}: most under {}.", list_of(rates), most->spec.name));
}

}  // namespace

Result<void> simulation(const Fields& study, Context& context, report::Report& report) {
  Question q = TRY(read(study, context));
  TRY_VOID(simulate_all(q, context));
  if (!q.focus.empty() && q.runs.size() > 1) {
    say_focus(q, report);
    report::Section section{"Side by side", {}, {}};
    section.parts.emplace_back(bars(q, fmt::format("p99 latency of {}", q.focus), "p99 latency (ms)",
                                    [&](const Run& run) { return 1e3 * focus_p99(q, run); }));
    report::logarithmic_if_wide(std::get<report::Figure>(section.parts.back()));
    section.parts.emplace_back(bars(q, "throughput of the others together", "throughput (samples/s)",
                                    [&](const Run& run) { return others_rate(q, run); }));
    section.parts.emplace_back(comparison(q));
    report.sections.push_back(std::move(section));
  } else if (std::ranges::all_of(q.runs, [](const Run& run) { return run.spec.changes.empty(); })) {
    for (const Run& run : q.runs) {
      double total = 0;
      for (std::size_t i = 0; i < run.spec.tenants.size(); ++i) total += samples_per_s(run, i);
      const auto worst = worst_p99(run);
      report.answer.push_back(!worst
                                  ? fmt::format("{}: no request is answered (simulated).", run.spec.name)
                                  : fmt::format("{}: {} samples/s together, the worst tenant's p99 is {} (simulated).",
                                                run.spec.name, figure_of(total), milliseconds(*worst)));
    }
  }
  for (const Run& run : q.runs) {
    report::Section section{run.spec.name, {}, {}};
    if (!run.spec.note.empty()) section.paragraphs.push_back(sentence(run.spec.note));
    if (!run.spec.changes.empty()) describe_changes(run.spec, run.built.scenario, run.result, report, section);
    section.parts.emplace_back(tenant_table(run));
    if (const auto& options = context.measure())
      TRY_VOID(measure_scenario(run.spec, run.result, *options, context, report, section));
    report.sections.push_back(std::move(section));
  }
  say_warnings(q, report);
  context.rests_on(fmt::format("simulated with seed {} for {} s, the first {} s left out", context.seed(),
                               figure_of(q.duration_s), figure_of(q.warmup_s)));
  return {};
}

}  // namespace partita::study
