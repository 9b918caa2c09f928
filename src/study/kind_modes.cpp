#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "study/kinds.h"
#include "study/scenario_file.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Size {
  std::string name;
  Job job;
};

// A load relative to what one slice can serve.
struct Load {
  std::string name;
  double load = 0;  // share of a slice's capacity; 0: closed, one request always there
  double on_s = 0, off_s = 0;
  int active = 0;                 // tenants that work
  int in_flight = 1;              // batches that a greedy tenant keeps going
  int greedy = 0;                 // of those, always busy; the others are judged
  std::optional<Job> greedy_job;  // nullopt: the same as the others'
};

struct Mode {
  std::string name;
  bool mig = false;
  Sharing sharing = Sharing::exclusive;
};

struct Cell {
  std::vector<double> value;  // by mode: p99 in seconds, or samples per second where the load is closed
  std::vector<double> apart;  // where some are greedy: p99 while those sleep
  std::vector<bool> fits;
  std::optional<std::size_t> best;
};

struct Question {
  std::shared_ptr<const catalog::Board> board;
  std::string profile;
  int tenants = 1;
  double close = 0.05;  // less apart is a draw
  double duration_s = 60, warmup_s = 5;
  std::vector<Size> sizes;
  std::vector<Load> loads;
  std::vector<Mode> modes;
};

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(only_keys(study, {"board", "profile", "tenants", "sizes", "loads", "modes"},
                     {"duration_s", "warmup_s", "draw_within"}));
  Question q;
  q.board = TRY(context.board(study, "board"));
  q.profile = TRY(study.text("profile"));
  const auto place = context.place(q.board, q.profile, false);
  if (!place) return study.error("profile", place.error().message);
  q.tenants = TRY(study.integer("tenants", 1, 64));
  if (auto legal = check_layout(*q.board, std::vector<int>(static_cast<std::size_t>(q.tenants), place->profile()));
      !legal)
    return study.error("tenants", legal.error().message);
  q.duration_s = TRY(study.number("duration_s", 0.1, 1e6, q.duration_s));
  q.warmup_s = TRY(study.number("warmup_s", 0, 1e6, q.warmup_s));
  q.close = TRY(study.number("draw_within", 0, 1, q.close));
  for (const Fields& row : TRY(study.rows("sizes"))) {
    TRY_VOID(row.only({"name", "job"}));
    const Fields job = TRY(row.section("job"));
    q.sizes.push_back({TRY(row.text("name")), TRY(context.read_job(job))});
  }
  for (const Fields& row : TRY(study.rows("loads"))) {
    TRY_VOID(row.only({"name"}, {"load", "on_s", "off_s", "active", "greedy", "greedy_job", "in_flight"}));
    Load load{TRY(row.text("name")),
              TRY(row.number("load", 0, 100, 0)),
              TRY(row.number("on_s", 0, 1e6, 0)),
              TRY(row.number("off_s", 0, 1e6, 0)),
              0,
              1,
              0,
              {}};
    load.active = TRY(row.integer("active", 1, q.tenants, q.tenants));
    load.in_flight = TRY(row.integer("in_flight", 1, 64, 1));
    load.greedy = TRY(row.integer("greedy", 0, load.active - 1, 0));
    if (load.greedy > 0 && load.load <= 0) return row.error("greedy", "expected a load for the other tenants");
    if (const auto job = TRY(row.child("greedy_job"))) {
      if (load.greedy == 0) return row.error("greedy_job", "expected greedy tenants, found none");
      load.greedy_job = TRY(context.read_job(*job));
    }
    if ((load.on_s > 0) != (load.off_s > 0)) return row.error("on_s", "expected both on_s and off_s, or neither");
    q.loads.push_back(std::move(load));
  }
  const auto modes = TRY(study.texts("modes"));
  if (modes.empty()) return study.error("modes", "expected at least one mode, found none");
  for (const std::string& mode : modes) {
    static const std::map<std::string, Sharing, std::less<>> kModes = {{"time_slice", Sharing::time_slice},
                                                                       {"mps", Sharing::mps},
                                                                       {"vgpu_best_effort", Sharing::vgpu_best_effort},
                                                                       {"vgpu_equal_share", Sharing::vgpu_equal_share}};
    if (mode == "mig") {
      q.modes.push_back({fmt::format("MIG {}", q.profile), true, Sharing::exclusive});
    } else if (const auto found = kModes.find(mode); found != kModes.end()) {
      q.modes.push_back({std::string(name(found->second)), false, found->second});
    } else {
      return study.error(
          "modes",
          fmt::format("expected mig, time_slice, mps, vgpu_best_effort or vgpu_equal_share, found {}", quote(mode)));
    }
  }
  return q;
}

Arrivals arrivals_of(const Load& load, double capacity_per_s) {
  Arrivals a;
  if (load.load <= 0) return a;
  a.kind = load.on_s > 0 ? Arrivals::Kind::on_off : Arrivals::Kind::poisson;
  a.rate_per_s = load.load * capacity_per_s;
  if (load.on_s > 0) a.rate_per_s *= (load.on_s + load.off_s) / load.on_s;
  a.on_s = load.on_s;
  a.off_s = load.off_s;
  return a;
}

Result<std::optional<double>> one(const Question& q, const Size& size, const Load& load, const Mode& mode,
                                  double capacity, bool with_greedy, Context& context) {
  const bool virtualised = mode.sharing == Sharing::vgpu_best_effort || mode.sharing == Sharing::vgpu_equal_share;
  ScenarioSpec spec;
  const Place place = TRY(context.place(q.board, mode.mig ? q.profile : "", virtualised));
  for (int i = 0; i < (mode.mig ? q.tenants : 1); ++i)
    spec.servers.push_back({fmt::format("s{}", i), place, mode.sharing, 0});
  for (int i = 0; i < q.tenants; ++i) {
    TenantSpec tenant;
    tenant.name = fmt::format("t{}", i);
    tenant.job = size.job;
    if (i >= load.greedy) {
      tenant.arrivals = arrivals_of(load, capacity);
    } else {
      if (load.greedy_job) tenant.job = *load.greedy_job;
      tenant.arrivals.clients = load.in_flight;
      if (mode.sharing == Sharing::mps) tenant.streams = load.in_flight;
    }
    if (i >= load.active || (i < load.greedy && !with_greedy))
      tenant.arrivals.kind = Arrivals::Kind::poisson, tenant.arrivals.rate_per_s = 0;
    tenant.server = spec.servers[mode.mig ? static_cast<std::size_t>(i) : 0].name;
    spec.tenants.push_back(std::move(tenant));
  }
  const Built built = TRY(build(spec, q.duration_s, q.warmup_s, context));
  const auto result = TRY(simulate(built.scenario));
  double worst = 0, sum = 0;
  for (int i = load.greedy; i < load.active; ++i) {
    const TenantResult& r = result.tenants[static_cast<std::size_t>(i)];
    if (!r.admitted) return std::optional<double>{};
    worst = std::max(worst, r.overloaded ? INFINITY : r.p99_s);
    sum += r.throughput_per_s * size.job.settings.batch;
  }
  return std::optional<double>(load.load > 0 ? worst : sum);
}

Result<Cell> cell(const Question& q, const Size& size, const Load& load, Context& context) {
  const Place slice = TRY(context.place(q.board, q.profile, false));
  const double capacity = 1 / TRY(context.step_s(size.job, slice, size.job.settings.batch));
  Cell out;
  const bool less = load.load > 0;
  for (const Mode& mode : q.modes) {
    const auto value = TRY(one(q, size, load, mode, capacity, true, context));
    if (load.greedy > 0)
      out.apart.push_back(TRY(one(q, size, load, mode, capacity, false, context)).value_or(INFINITY));
    out.fits.push_back(value.has_value());
    out.value.push_back(value.value_or(0));
    const std::size_t i = out.value.size() - 1;
    if (value && std::isfinite(*value) &&
        (!out.best || (less ? *value < out.value[*out.best] : *value > out.value[*out.best])))
      out.best = i;
  }
  return out;
}

// How much worse than the best, 1 = as good.
double behind(const Cell& c, std::size_t mode, bool less) {
  if (!c.best || !c.fits[mode]) return INFINITY;
  return less ? c.value[mode] / c.value[*c.best] : c.value[*c.best] / c.value[mode];
}

bool good(const Question& q, const Cell& c, std::size_t mode, bool less) {
  return behind(c, mode, less) <= 1 + q.close;
}

std::string shown(const Cell& c, std::size_t mode, bool less) {
  if (!c.fits[mode]) return "does not fit";
  if (!std::isfinite(c.value[mode])) return "overloaded";
  return less ? milliseconds(c.value[mode]) : figure_of(c.value[mode]);
}

// One load: what each mode gives each size of job.
Result<report::Section> section_of(const Question& q, const Load& load, const std::vector<Cell>& cells,
                                   Context& context) {
  const bool less = load.load > 0;
  report::Figure f;
  f.shape = report::Figure::Shape::grouped_bars;
  f.title = fmt::format("{}: {}", load.name, less ? "p99 latency of the worst tenant" : "throughput together");
  f.x_title = "job";
  f.y_title = less ? "p99 latency (ms)" : "throughput (samples/s)";
  f.note = "No bar: overloaded, or the jobs do not fit into memory together.";
  report::Table t;
  t.title = f.title;
  t.columns = {"job"};
  for (const Mode& mode : q.modes) {
    f.series.push_back({mode.name, report::Kind::simulated, {}});
    t.columns.push_back(fmt::format("{} ({})", mode.name, less ? "p99" : "samples/s"));
  }
  t.columns.emplace_back("best");
  t.kinds.assign(t.columns.size(), report::Kind::simulated);
  t.kinds[0] = report::Kind::input;
  for (std::size_t s = 0; s < q.sizes.size(); ++s) {
    const Size& size = q.sizes[s];
    const Cell& c = cells[s];
    const auto* workload = TRY(context.workload(size.job));
    f.x.push_back(size.name);
    std::vector<std::string> row{fmt::format("{} ({})", size.name, job_title(*workload, size.job))}, best;
    for (std::size_t i = 0; i < q.modes.size(); ++i) {
      const bool bar = c.fits[i] && std::isfinite(c.value[i]);
      f.series[i].values.push_back(bar ? std::optional<report::Value>({less ? 1e3 * c.value[i] : c.value[i], {}, {}})
                                       : std::nullopt);
      row.push_back(shown(c, i, less));
      if (good(q, c, i, less)) best.push_back(q.modes[i].name);
    }
    row.push_back(best.empty() ? "none" : list_of(best));
    t.rows.push_back(std::move(row));
  }
  report::logarithmic_if_wide(f);
  report::Section section{load.name, {}, {}};
  section.parts.emplace_back(std::move(f));
  section.parts.emplace_back(std::move(t));
  return section;
}

// Of one case, with MIG as mode m: who is best, and how far MIG is behind or ahead.
std::string verdict(const Question& q, const Cell& c, std::size_t m, bool less) {
  if (!c.best) return "no mode carries them";
  const double far = behind(c, m, less);
  if (far > 1 + q.close) {
    if (!c.fits[m]) return fmt::format("{}, they do not fit into a slice", q.modes[*c.best].name);
    if (!std::isfinite(far)) return fmt::format("{}, a slice is overloaded", q.modes[*c.best].name);
    return less ? fmt::format("{}, MIG's p99 is {} times as long", q.modes[*c.best].name, figure_of(far))
                : fmt::format("{}, MIG reaches {} of its throughput", q.modes[*c.best].name, percent(1 / far));
  }
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < q.modes.size(); ++i) {
    if (i != m && c.fits[i] && std::isfinite(c.value[i]) && (!next || behind(c, i, less) < behind(c, *next, less)))
      next = i;
  }
  if (!next) return "MIG, all others are overloaded or do not fit";
  if (good(q, c, *next, less)) return fmt::format("MIG and {} alike", q.modes[*next].name);
  return less
             ? fmt::format("MIG, next {} with {} times the p99", q.modes[*next].name, figure_of(behind(c, *next, less)))
             : fmt::format("MIG, next {} with {} of its throughput", q.modes[*next].name,
                           percent(1 / behind(c, *next, less)));
}

struct Score {
  std::vector<std::string> won;
  int best = 0, alike = 0, behind = 0;
};

// MIG against the other modes, or against those that keep a fault in one tenant from the others.
Score score(const Question& q, const std::vector<std::vector<Cell>>& all, std::size_t m, bool with_mps) {
  Score out;
  for (std::size_t l = 0; l < q.loads.size(); ++l) {
    const bool less = q.loads[l].load > 0;
    for (std::size_t s = 0; s < q.sizes.size(); ++s) {
      const Cell& c = all[l][s];
      double others = INFINITY;  // behind the best of all, smaller is better
      for (std::size_t i = 0; i < q.modes.size(); ++i)
        if (i != m && (with_mps || q.modes[i].sharing != Sharing::mps)) others = std::min(others, behind(c, i, less));
      const double mine = behind(c, m, less);
      if (mine * (1 + q.close) < others) out.won.push_back(fmt::format("{} ({})", q.sizes[s].name, q.loads[l].name));
      ++(mine * (1 + q.close) < others ? out.best : mine <= others * (1 + q.close) ? out.alike : out.behind);
    }
  }
  return out;
}

// How many times as long a mode's p99 is while the greedy tenants are busy as while they sleep, at most; infinite when
// overloaded then.
std::optional<double> most_felt(const Question& q, const std::vector<std::vector<Cell>>& all, std::size_t mode) {
  std::optional<double> most;
  for (std::size_t l = 0; l < q.loads.size(); ++l) {
    for (const Cell& c : all[l])
      if (!c.apart.empty() && c.fits[mode] && std::isfinite(c.apart[mode]))
        most = std::max(most.value_or(0), c.value[mode] / c.apart[mode]);
  }
  return most;
}

void say_isolation(const Question& q, const std::vector<std::vector<Cell>>& all, report::Report& report) {
  std::vector<std::string> felt;
  for (std::size_t i = 0; i < q.modes.size(); ++i) {
    if (const auto most = most_felt(q, all, i))
      felt.push_back(std::isfinite(*most) ? fmt::format("{} under {}", figure_of(*most), q.modes[i].name)
                                          : "no bound under " + q.modes[i].name);
  }
  if (!felt.empty())
    report.answer.push_back(
        fmt::format("What can be promised: greedy tenants lengthen the p99 of the others, against that while they "
                    "sleep, at most by a "
                    "factor of {} (simulated).",
                    list_of(felt)));
}

// The cases in which MIG is furthest behind.
void say_losses(const Question& q, const std::vector<std::vector<Cell>>& all, std::size_t m, report::Report& report) {
  std::vector<std::pair<double, std::string>> lost;
  for (std::size_t l = 0; l < q.loads.size(); ++l) {
    const bool less = q.loads[l].load > 0;
    for (std::size_t s = 0; s < q.sizes.size(); ++s) {
      const Cell& c = all[l][s];
      const double far = behind(c, m, less);
      if (c.best && far > 1 + q.close && std::isfinite(far))
        lost.emplace_back(
            far, fmt::format("{} ({}, {} {})", q.sizes[s].name, q.loads[l].name,
                             less ? figure_of(far) + " times the p99 of" : percent(1 / far) + " of the throughput of",
                             q.modes[*c.best].name));
    }
  }
  constexpr std::size_t kShown = 3;
  std::ranges::sort(lost, std::greater<>());
  std::vector<std::string> worst;
  for (std::size_t i = 0; i < std::min(kShown, lost.size()); ++i) worst.push_back(lost[i].second);
  if (!worst.empty()) report.answer.push_back(fmt::format("{} loses most with {}.", q.modes[m].name, list_of(worst)));
}

void say(const Question& q, const std::vector<std::vector<Cell>>& all, report::Report& report) {
  const auto mig = std::ranges::find(q.modes, true, &Mode::mig);
  if (mig != q.modes.end()) {
    const auto m = static_cast<std::size_t>(mig - q.modes.begin());
    const Score s = score(q, all, m, true), isolating = score(q, all, m, false);
    report.answer.push_back(fmt::format(
        "Of {} cases (size of job by load) with {} tenants, {} is best in {}, as good as another within {} in {} and "
        "behind in {} (simulated).",
        q.sizes.size() * q.loads.size(), q.tenants, mig->name, s.best, percent(q.close), s.alike, s.behind));
    if (!s.won.empty()) report.answer.push_back(fmt::format("{} wins with {}.", mig->name, list_of(s.won)));
    say_losses(q, all, m, report);
    if (std::ranges::find(q.modes, Sharing::mps, &Mode::sharing) != q.modes.end())
      report.answer.push_back(
          fmt::format("Without MPS, under which a fault of one tenant can end the others, MIG is best in {}, as good "
                      "in {}, behind in {}{}.",
                      isolating.best, isolating.alike, isolating.behind,
                      isolating.won.empty() ? "" : "; best for " + list_of(isolating.won)));
  }
  say_isolation(q, all, report);
  for (std::size_t l = 0; l < q.loads.size(); ++l) {
    const bool less = q.loads[l].load > 0;
    std::string line = fmt::format("{} (by {}): ", capital(q.loads[l].name), less ? "p99" : "throughput");
    for (std::size_t s = 0; s < q.sizes.size(); ++s) {
      const Cell& c = all[l][s];
      std::string best = mig != q.modes.end() ? verdict(q, c, static_cast<std::size_t>(mig - q.modes.begin()), less)
                         : c.best             ? q.modes[*c.best].name
                                              : "no mode carries them";
      line += fmt::format("{}{}: {}", s > 0 ? "; " : "", q.sizes[s].name, best);
    }
    report.answer.push_back(line + ".");
  }
}

}  // namespace

Result<void> modes(const Fields& study, Context& context, report::Report& report) {
  const Question q = TRY(read(study, context));
  std::vector<std::vector<Cell>> all;  // by load, then size
  int done = 0;
  for (const Load& load : q.loads) {
    all.emplace_back();
    for (const Size& size : q.sizes) {
      context.progress().step(++done, static_cast<int>(q.loads.size() * q.sizes.size()),
                              fmt::format("{}, {}", size.name, load.name));
      all.back().push_back(TRY(cell(q, size, load, context)));
    }
    report.sections.push_back(TRY(section_of(q, load, all.back(), context)));
  }
  say(q, all, report);
  context.rests_on(fmt::format(
      "simulated with seed {} for {} s per case, the first {} s left out; loads are shares of what one {} serves alone",
      context.seed(), figure_of(q.duration_s), figure_of(q.warmup_s), q.profile));
  context.rests_on(
      "compared by p99 where requests arrive by themselves, by throughput where each tenant always has one waiting; a "
      "slice cannot borrow what its neighbours leave unused, and nobody can take what is its own");
  return {};
}

}  // namespace partita::study
