#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "study/kinds.h"
#include "study/scenario_file.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Machine {
  std::string name;
  Place place;
  Sharing sharing = Sharing::exclusive;
  int gpus = 1;
  int instances = 1;  // MIG: per GPU
  // Found:
  int per_gpu = 0;  // users that are all served
  bool extrapolated = false;
  double p99_s = 0, met = 0;                       // worst user, at that many
  std::optional<double> greedy_p99_s, greedy_met;  // worst other user beside a greedy one
  double at_full_met = 0;                          // users * gpus on one machine: share of users served
  int machines(int users) const { return per_gpu > 0 ? (users + per_gpu * gpus - 1) / (per_gpu * gpus) : 0; }
};

struct Question {
  int users = 1;
  TenantSpec user, greedy;
  double served = 0.99;
  int most = 1;
  double duration_s = 60, warmup_s = 5;
  std::vector<Machine> machines;
};

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(
      only_keys(study, {"users", "user", "greedy", "served", "machines"}, {"most_per_gpu", "duration_s", "warmup_s"}));
  Question q;
  q.users = TRY(study.integer("users", 1, 100'000));
  const Fields user = TRY(study.section("user")), greedy = TRY(study.section("greedy"));
  q.user = TRY(read_tenant(user, context));
  q.greedy = TRY(read_tenant(greedy, context));
  if (!q.user.slo_s) return user.error("slo_ms", "expected an SLO, found none");
  q.served = TRY(study.number("served", 0.01, 1));
  q.most = TRY(study.integer("most_per_gpu", 1, 4096, q.users));
  q.duration_s = TRY(study.number("duration_s", 0.1, 1e6, q.duration_s));
  q.warmup_s = TRY(study.number("warmup_s", 0, 1e6, q.warmup_s));
  for (const Fields& row : TRY(study.rows("machines"))) {
    TRY_VOID(row.only({"name", "board"}, {"gpus", "profile", "vgpu", "virtualised", "sharing"}));
    Machine m;
    m.place = TRY(context.read_place(row));
    m.name = TRY(row.text("name"));
    m.sharing = TRY(read_sharing(row, "sharing"));
    m.gpus = TRY(row.integer("gpus", 1, 1024, 1));
    if (m.place.partition.profile)
      m.instances = m.place.board->profiles[static_cast<std::size_t>(*m.place.partition.profile)].max_instances;
    q.machines.push_back(std::move(m));
  }
  return q;
}

// One GPU of the machine with so many users, the first of them greedy where asked.
Result<SimulationResult> one_gpu(const Question& q, const Machine& m, int users, bool greedy, Context& context) {
  ScenarioSpec spec;
  spec.name = m.name;
  for (int i = 0; i < m.instances; ++i)
    spec.servers.push_back({fmt::format("{} #{}", m.place.name, i + 1), m.place, m.sharing, 0});
  for (int i = 0; i < users; ++i) {
    TenantSpec tenant = i == 0 && greedy ? q.greedy : q.user;
    tenant.name = fmt::format("user {}", i + 1);
    tenant.server = spec.servers[static_cast<std::size_t>(i % m.instances)].name;
    spec.tenants.push_back(std::move(tenant));
  }
  return simulate(TRY(build(spec, q.duration_s, q.warmup_s, context)).scenario);
}

struct Worst {
  double p99_s = 0, met = 1;
  int served = 0;
};
Worst worst_of(const Question& q, const SimulationResult& result, std::size_t from) {
  Worst worst;
  for (std::size_t i = from; i < result.tenants.size(); ++i) {
    const TenantResult& r = result.tenants[i];
    const double met = r.admitted && !r.overloaded ? r.slo_met.value_or(0) : 0;
    worst.met = std::min(worst.met, met);
    worst.p99_s = std::max(worst.p99_s, r.admitted ? r.p99_s : INFINITY);
    worst.served += met >= q.served ? 1 : 0;
  }
  return worst;
}

Result<void> fill(const Question& q, Machine& m, Context& context) {
  m.extrapolated = TRY(context.predict(q.user.job, m.place, q.user.job.settings.batch)).extrapolated;
  // On MIG each user has an instance of its own.
  int low = 0, high = (m.place.partition.profile ? m.instances : q.most) + 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    const Worst worst = worst_of(q, TRY(one_gpu(q, m, middle, false, context)), 0);
    (worst.served == middle ? low : high) = middle;
  }
  m.per_gpu = low;
  const int all = std::max(1, (q.users + m.gpus - 1) / m.gpus);
  if (!m.place.partition.profile || all <= m.instances) {
    const Worst worst = worst_of(q, TRY(one_gpu(q, m, all, false, context)), 0);
    m.at_full_met = static_cast<double>(std::min(q.users, worst.served * m.gpus));
  } else {
    m.at_full_met = std::min(q.users, m.per_gpu * m.gpus);
  }
  if (m.per_gpu == 0) return {};
  const int used =
      std::min(m.per_gpu, std::max(1, (q.users + m.machines(q.users) * m.gpus - 1) / (m.machines(q.users) * m.gpus)));
  const Worst calm = worst_of(q, TRY(one_gpu(q, m, used, false, context)), 0);
  m.p99_s = calm.p99_s;
  m.met = calm.met;
  if (used < 2) return {};
  const Worst beside = worst_of(q, TRY(one_gpu(q, m, used, true, context)), 1);
  m.greedy_p99_s = beside.p99_s;
  m.greedy_met = beside.met;
  return {};
}

std::string mark(const Machine& m) { return m.extrapolated ? m.name + " (extrapolated)" : m.name; }

report::Table table(const Question& q) {
  using report::Kind;
  report::Table t;
  t.title = fmt::format("{} users", q.users);
  t.columns = {"machine",
               "GPUs",
               "users within SLO per GPU, at most",
               "per machine, at most",
               fmt::format("of {} on one machine", q.users),
               "machines needed",
               "worst user's p99",
               "within SLO",
               "others' p99 beside a greedy user",
               "others within SLO"};
  t.kinds.assign(t.columns.size(), Kind::simulated);
  t.kinds[0] = t.kinds[1] = Kind::input;
  for (const Machine& m : q.machines) {
    const bool any = m.per_gpu > 0;
    t.rows.push_back({mark(m), std::to_string(m.gpus), std::to_string(m.per_gpu), std::to_string(m.per_gpu * m.gpus),
                      figure_of(m.at_full_met), any ? std::to_string(m.machines(q.users)) : "cannot",
                      any ? milliseconds(m.p99_s) : "–", any ? percent(m.met) : "–",
                      m.greedy_p99_s ? milliseconds(*m.greedy_p99_s) : "–",
                      m.greedy_met ? percent(*m.greedy_met) : "–"});
  }
  return t;
}

report::Figure figure(const Question& q, const std::string& title, const std::string& y,
                      const std::function<double(const Machine&)>& of) {
  report::Figure f;
  f.title = title;
  f.x_title = "machine";
  f.y_title = y;
  report::Series series{y, report::Kind::simulated, {}};
  for (const Machine& m : q.machines) {
    f.x.push_back(mark(m));
    series.values.push_back(report::Value{of(m), {}, {}});
  }
  f.series.push_back(std::move(series));
  return f;
}

void say(const Question& q, report::Report& report) {
  report.answer.push_back(
      fmt::format("A user counts as served when {} of the requests are answered within {} (all figures simulated).",
                  percent(q.served), milliseconds(*q.user.slo_s)));
  for (const Machine& m : q.machines) {
    if (m.per_gpu == 0) {
      report.answer.push_back(fmt::format("{}: not even one user is served within the SLO.", mark(m)));
      continue;
    }
    std::string line =
        fmt::format("{}: one machine serves {} of the {} users, {} {} needed for all", mark(m),
                    figure_of(m.at_full_met), q.users, m.machines(q.users), m.machines(q.users) == 1 ? "is" : "are");
    if (m.machines(q.users) == 1) line += fmt::format(" (it could serve {})", m.per_gpu * m.gpus);
    if (m.greedy_met) {
      line +=
          *m.greedy_met >= q.served
              ? fmt::format("; a user who never stops asking leaves the others served ({} within the SLO)",
                            percent(*m.greedy_met))
              : fmt::format("; one user who never stops asking takes the others on that GPU down to {} within the SLO",
                            percent(*m.greedy_met));
    } else {
      line += "; one user per GPU, so that nobody shares";
    }
    report.answer.push_back(line + ".");
  }
  std::vector<std::string> isolated, dense;
  int most = 0;
  for (const Machine& m : q.machines) {
    if (m.per_gpu > 0 && (!m.greedy_met || *m.greedy_met >= q.served)) isolated.push_back(m.name);
    most = std::max(most, m.per_gpu);
  }
  for (const Machine& m : q.machines)
    if (m.per_gpu == most) dense.push_back(m.name);
  if (most > 0)
    report.answer.push_back(fmt::format("Most users per GPU: {} ({}). Isolation holds on: {}.", list_of(dense), most,
                                        isolated.empty() ? "none" : list_of(isolated)));
}

}  // namespace

Result<void> fleet(const Fields& study, Context& context, report::Report& report) {
  Question q = TRY(read(study, context));
  for (std::size_t i = 0; i < q.machines.size(); ++i) {
    context.progress().step(static_cast<int>(i) + 1, static_cast<int>(q.machines.size()), q.machines[i].name);
    TRY_VOID(fill(q, q.machines[i], context));
  }
  say(q, report);
  report::Section section{"Machines", {}, {}};
  section.parts.emplace_back(figure(q, fmt::format("machines for {} users", q.users), "machines",
                                    [&](const Machine& m) { return m.machines(q.users); }));
  section.parts.emplace_back(
      figure(q, "other users beside a greedy one: requests within the SLO", "within SLO (%)",
             [](const Machine& m) { return 100 * m.greedy_met.value_or(m.per_gpu > 0 ? 1 : 0); }));
  section.parts.emplace_back(table(q));
  report.sections.push_back(std::move(section));
  context.rests_on(
      fmt::format("simulated with seed {} for {} s per number of users, the first {} s left out; all GPUs of a machine "
                  "are alike, one is simulated",
                  context.seed(), figure_of(q.duration_s), figure_of(q.warmup_s)));
  context.rests_on("cost is counted in machines: no prices are assumed");
  return {};
}

}  // namespace partita::study
