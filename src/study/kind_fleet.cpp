#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
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
  bool by_memory = false, extrapolated = false;
  int used = 0;                             // users on each GPU when all are spread over as few machines as serve them
  double p99_s = 0, met = 0;                // of the worst user then
  double greedy_p99_s = 0, greedy_met = 0;  // of the worst other user beside one greedy user
  std::optional<double> most_rate;          // requests per second of each user up to which all are served
  std::optional<int> breaks;                // greedy users per GPU that take the SLO from the others
  bool shares() const { return used > 1; }
  double worst_p99_s = 0;  // of any other user, beside any number of greedy ones
  bool isolated() const { return per_gpu > 0 && !breaks; }
  bool unmoved() const { return isolated() && worst_p99_s <= 1.05 * p99_s; }
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
  q.most = TRY(study.integer("most_per_gpu", 1, 4096, std::min(q.users, 4096)));
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
      m.instances = m.place.board->profiles[static_cast<std::size_t>(m.place.profile())].max_instances;
    q.machines.push_back(std::move(m));
  }
  return q;
}

// One GPU of the machine with so many users, the first of them greedy.
Result<SimulationResult> one_gpu(const Question& q, const Machine& m, int users, int greedy, Context& context) {
  ScenarioSpec spec;
  spec.name = m.name;
  for (int i = 0; i < m.instances; ++i)
    spec.servers.push_back({fmt::format("{} #{}", m.place.name, i + 1), m.place, m.sharing, 0});
  for (int i = 0; i < users; ++i) {
    TenantSpec tenant = i < greedy ? q.greedy : q.user;
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

// Most users of one GPU of which each is served. On MIG each has an instance of its own.
Result<void> find_most(const Question& q, Machine& m, Context& context) {
  int low = 0, high = (m.place.partition.profile ? m.instances : q.most) + 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    const auto result = TRY(one_gpu(q, m, middle, 0, context));
    const bool all = worst_of(q, result, 0).served == middle;
    if (!all) m.by_memory = std::ranges::any_of(result.tenants, [](const auto& t) { return !t.admitted; });
    (all ? low : high) = middle;
  }
  m.per_gpu = low;
  return {};
}

// How much more each of them could ask for: the doubling at which not all are served, then halving the step. Only where
// requests come at a rate. From 512 times what was asked on, no more is looked for.
Result<void> find_rate(const Question& q, Machine& m, Context& context) {
  if (q.user.arrivals.kind != Arrivals::Kind::poisson || q.user.arrivals.rate_per_s <= 0) return {};
  constexpr int kDoublings = 8, kHalvings = 5;
  const auto served = [&](double factor) -> Result<bool> {
    Question more = q;
    more.user.arrivals.rate_per_s *= factor;
    return worst_of(q, TRY(one_gpu(more, m, m.used, 0, context)), 0).served == m.used;
  };
  double low = 1, high = 2;
  for (int i = 0; i < kDoublings && TRY(served(high)); ++i) low = high, high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (TRY(served(middle)) ? low : high) = middle;
  }
  m.most_rate = low * q.user.arrivals.rate_per_s;
  return {};
}

Result<void> fill(const Question& q, Machine& m, Context& context) {
  // By the board alone, whatever the precision and the framework.
  Job measured = q.user.job;
  measured.settings = {.mode = measured.settings.mode, .sequence = measured.settings.sequence};
  m.extrapolated = TRY(context.predict(measured, m.place, q.user.job.settings.batch)).extrapolated;
  TRY_VOID(find_most(q, m, context));
  if (m.per_gpu == 0) return {};
  const int gpus = m.machines(q.users) * m.gpus;
  m.used = std::min(m.per_gpu, (q.users + gpus - 1) / gpus);
  TRY_VOID(find_rate(q, m, context));
  // The same users are compared: the first is the one that turns greedy.
  const Worst calm = worst_of(q, TRY(one_gpu(q, m, m.used, 0, context)), m.shares() ? 1 : 0);
  m.p99_s = calm.p99_s;
  m.met = calm.met;
  m.worst_p99_s = calm.p99_s;
  for (int greedy = 1; greedy < m.used && !m.breaks; ++greedy) {
    const Worst beside = worst_of(q, TRY(one_gpu(q, m, m.used, greedy, context)), static_cast<std::size_t>(greedy));
    m.worst_p99_s = std::max(m.worst_p99_s, beside.p99_s);
    if (greedy == 1) {
      m.greedy_p99_s = beside.p99_s;
      m.greedy_met = beside.met;
    }
    if (beside.met < q.served) m.breaks = greedy;
  }
  return {};
}

std::string mark(const Machine& m) { return m.extrapolated ? m.name + " (extrapolated)" : m.name; }

std::string breaking(const Machine& m) {
  if (m.per_gpu == 0 || !m.shares()) return "–";
  return m.breaks ? std::to_string(*m.breaks) : "none do";
}

report::Table table(const Question& q) {
  using report::Kind;
  report::Table t;
  t.title = fmt::format("{} users", q.users);
  t.columns = {"machine",
               "GPUs",
               "users per GPU, at most",
               "users per machine, at most",
               "machines needed",
               "users per GPU then",
               "worst p99",
               "within SLO",
               "requests/s of each, at most",
               "p99 beside one greedy",
               "within SLO then",
               "greedy ones that break it"};
  t.kinds.assign(t.columns.size(), Kind::simulated);
  t.kinds[0] = t.kinds[1] = Kind::input;
  for (const Machine& m : q.machines) {
    const bool any = m.per_gpu > 0, shared = any && m.shares();
    t.rows.push_back({mark(m), std::to_string(m.gpus), fmt::format("{}{}", m.per_gpu, m.by_memory ? " (memory)" : ""),
                      std::to_string(m.per_gpu * m.gpus), any ? std::to_string(m.machines(q.users)) : "cannot",
                      std::to_string(m.used), any ? milliseconds(m.p99_s) : "–", any ? percent(m.met) : "–",
                      m.most_rate ? figure_of(*m.most_rate) : "–", shared ? milliseconds(m.greedy_p99_s) : "–",
                      shared ? percent(m.greedy_met) : "–", breaking(m)});
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

void say_machine(const Question& q, const Machine& m, report::Report& report) {
  if (m.per_gpu == 0) {
    report.answer.push_back(fmt::format("{}: not even one user is served within the SLO{}.", mark(m),
                                        m.by_memory ? ", for lack of memory" : ""));
    return;
  }
  const int most = m.per_gpu * m.gpus, need = m.machines(q.users);
  std::string line =
      fmt::format("{}: one machine serves {} of the {} users", capital(mark(m)), std::min(most, q.users), q.users);
  if (most > q.users) line += fmt::format(" and could serve {}{}", most, m.by_memory ? ", where memory ends" : "");
  if (need > 1) line += fmt::format("; all of them take {} machines", need);
  line += fmt::format("; the worst p99 with {} on each GPU is {}", m.used == 1 ? "one" : std::to_string(m.used),
                      milliseconds(m.p99_s));
  if (m.most_rate) line += fmt::format(", and each could send up to {} requests/s", figure_of(*m.most_rate));
  if (!m.shares()) {
    line += "; nobody shares a GPU";
  } else {
    line += fmt::format("; beside one greedy user the p99 is {}", milliseconds(m.greedy_p99_s));
    line += m.breaks
                ? fmt::format(": {} on a GPU take{} the SLO from the others",
                              count_of(static_cast<std::size_t>(*m.breaks), "greedy user"), *m.breaks == 1 ? "s" : "")
                : ": no number of greedy users takes the SLO from the others";
  }
  report.answer.push_back(line + ".");
}

void say(const Question& q, report::Report& report) {
  report.answer.push_back(
      fmt::format("A user counts as served when {} of the requests are answered within {}; a greedy one never stops "
                  "asking (all figures simulated).",
                  percent(q.served), milliseconds(q.user.slo_s.value_or(0))));
  for (const Machine& m : q.machines) say_machine(q, m, report);
  std::vector<std::string> felt, unmoved, dense;
  int most = 0;
  for (const Machine& m : q.machines) {
    if (m.isolated() && m.shares()) (m.unmoved() ? unmoved : felt).push_back(m.name);
    most = std::max(most, m.per_gpu);
  }
  for (const Machine& m : q.machines)
    if (m.per_gpu == most) dense.push_back(m.name);
  if (most == 0) return;
  report.answer.push_back(fmt::format("Most users per GPU: {}, with {}.", list_of(dense), most));
  if (!unmoved.empty())
    report.answer.push_back(
        fmt::format("Isolation: on {} the others do not feel greedy users at all (p99 within 5 %).", list_of(unmoved)));
  if (!felt.empty()) report.answer.push_back(fmt::format("On {} they feel them, but keep their SLO.", list_of(felt)));
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
  section.parts.emplace_back(figure(q, "other users beside one greedy user: requests within the SLO", "within SLO (%)",
                                    [](const Machine& m) { return 100 * (m.shares() ? m.greedy_met : m.met); }));
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
