#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

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
  int active = 0;  // tenants that work
};

struct Mode {
  std::string name;
  bool mig = false;
  Sharing sharing = Sharing::exclusive;
};

struct Cell {
  std::vector<double> value;  // by mode: p99 in seconds, or samples per second where the load is closed
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
  if (auto legal =
          check_layout(*q.board, std::vector<int>(static_cast<std::size_t>(q.tenants), *place->partition.profile));
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
    TRY_VOID(row.only({"name"}, {"load", "on_s", "off_s", "active"}));
    Load load{TRY(row.text("name")), TRY(row.number("load", 0, 100, 0)), TRY(row.number("on_s", 0, 1e6, 0)),
              TRY(row.number("off_s", 0, 1e6, 0)), 0};
    load.active = TRY(row.integer("active", 1, q.tenants, q.tenants));
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
          fmt::format("expected mig, time_slice, mps, vgpu_best_effort or vgpu_equal_share, found \"{}\"", mode));
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
                                  double capacity, Context& context) {
  const bool virtualised = mode.sharing == Sharing::vgpu_best_effort || mode.sharing == Sharing::vgpu_equal_share;
  ScenarioSpec spec;
  const Place place = TRY(context.place(q.board, mode.mig ? q.profile : "", virtualised));
  for (int i = 0; i < (mode.mig ? q.tenants : 1); ++i)
    spec.servers.push_back({fmt::format("s{}", i), place, mode.sharing, 0});
  for (int i = 0; i < q.tenants; ++i) {
    TenantSpec tenant;
    tenant.name = fmt::format("t{}", i);
    tenant.job = size.job;
    tenant.arrivals = arrivals_of(load, capacity);
    if (i >= load.active)
      tenant.arrivals = {.kind = Arrivals::Kind::poisson,
                         .clients = 1,
                         .think_s = 0,
                         .rate_per_s = 0,
                         .on_s = 0,
                         .off_s = 0,
                         .times_s = {}};
    tenant.server = spec.servers[mode.mig ? static_cast<std::size_t>(i) : 0].name;
    spec.tenants.push_back(std::move(tenant));
  }
  const auto result = TRY(simulate(TRY(build(spec, q.duration_s, q.warmup_s, context)).scenario));
  double worst = 0, sum = 0;
  for (int i = 0; i < load.active; ++i) {
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
    const auto value = TRY(one(q, size, load, mode, capacity, context));
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

}  // namespace

Result<void> modes(const Fields& study, Context& context, report::Report& report) {
  const Question q = TRY(read(study, context));
  const auto mig = std::ranges::find(q.modes, true, &Mode::mig);
  std::map<std::size_t, std::vector<std::string>> wins;
  std::vector<std::string> draws, losses, cannot;
  int done = 0;
  for (const Load& load : q.loads) {
    const bool less = load.load > 0;
    report::Section section{load.name, {}, {}};
    report::Figure f;
    f.shape = report::Figure::Shape::grouped_bars;
    f.title = fmt::format("{}: {}", load.name, less ? "p99 latency of the worst tenant" : "throughput together");
    f.x_title = "job";
    f.y_title = less ? "p99 latency (ms)" : "throughput (samples/s)";
    f.log_y = true;
    f.note = "No bar: overloaded, or the jobs do not fit into memory together.";
    for (const Mode& mode : q.modes) f.series.push_back({mode.name, report::Kind::simulated, {}});
    report::Table t;
    t.title = f.title;
    t.columns = {"job"};
    for (const Mode& mode : q.modes) t.columns.push_back(fmt::format("{} ({})", mode.name, less ? "p99" : "samples/s"));
    t.columns.emplace_back("best");
    t.kinds.assign(t.columns.size(), report::Kind::simulated);
    t.kinds[0] = report::Kind::input;
    for (const Size& size : q.sizes) {
      const std::string where = fmt::format("{}, {}", size.name, load.name);
      context.progress().step(++done, static_cast<int>(q.loads.size() * q.sizes.size()), where);
      const Cell c = TRY(cell(q, size, load, context));
      f.x.push_back(size.name);
      std::vector<std::string> row{
          fmt::format("{} ({})", size.name, job_title(*TRY(context.workload(size.job)), size.job))};
      for (std::size_t i = 0; i < q.modes.size(); ++i) {
        const bool finite = c.fits[i] && std::isfinite(c.value[i]);
        f.series[i].values.push_back(
            finite ? std::optional<report::Value>({less ? 1e3 * c.value[i] : c.value[i], {}, {}}) : std::nullopt);
        row.push_back(!c.fits[i] ? "does not fit"
                      : !finite  ? "overloaded"
                      : less     ? milliseconds(c.value[i])
                                 : figure_of(c.value[i]));
      }
      std::vector<std::string> best;
      for (std::size_t i = 0; i < q.modes.size(); ++i)
        if (behind(c, i, less) <= 1 + q.close) best.push_back(q.modes[i].name);
      row.push_back(best.empty() ? "none" : list_of(best));
      t.rows.push_back(std::move(row));
      if (!c.best) {
        cannot.push_back(where);
        continue;
      }
      if (mig == q.modes.end()) {
        wins[*c.best].push_back(where);
        continue;
      }
      const auto m = static_cast<std::size_t>(mig - q.modes.begin());
      const double far = behind(c, m, less);
      if (far > 1 + q.close) {
        losses.push_back(fmt::format("{} ({} {} under {}{})", where, less ? "lower p99" : "more",
                                     std::isfinite(far) ? fmt::format("{:.1f} times", far) : "served only",
                                     q.modes[*c.best].name, !c.fits[m] ? "; the job does not fit into a slice" : ""));
      } else {
        bool alone = true;
        for (std::size_t i = 0; i < q.modes.size(); ++i) alone = alone && (i == m || behind(c, i, less) > 1 + q.close);
        (alone ? wins[m] : draws).push_back(where);
      }
    }
    section.parts.emplace_back(std::move(f));
    section.parts.emplace_back(std::move(t));
    report.sections.push_back(std::move(section));
  }
  if (mig != q.modes.end()) {
    const auto m = static_cast<std::size_t>(mig - q.modes.begin());
    const std::size_t cells = q.loads.size() * q.sizes.size();
    report.answer.push_back(
        fmt::format("Of {} cases (job by load, {} tenants), {} is best in {}, as good as another within {} in {}, and "
                    "loses in {} (simulated).",
                    cells, q.tenants, mig->name, wins[m].size(), percent(q.close), draws.size(), losses.size()));
    if (!wins[m].empty()) report.answer.push_back(fmt::format("MIG wins: {}.", list_of(wins[m])));
    if (!draws.empty()) report.answer.push_back(fmt::format("No difference: {}.", list_of(draws)));
    if (!losses.empty())
      report.answer.push_back(
          fmt::format("MIG loses: {}. A slice cannot borrow what its neighbours leave unused.", list_of(losses)));
  } else {
    for (const auto& [mode, cells] : wins)
      report.answer.push_back(fmt::format("{} is best for {} (simulated).", q.modes[mode].name, list_of(cells)));
  }
  if (!cannot.empty()) report.answer.push_back(fmt::format("No mode carries: {}.", list_of(cannot)));
  context.rests_on(fmt::format(
      "simulated with seed {} for {} s per case, the first {} s left out; loads are shares of what one {} serves alone",
      context.seed(), figure_of(q.duration_s), figure_of(q.warmup_s), q.profile));
  context.rests_on(
      "compared by p99 where requests arrive by themselves, by throughput where each tenant always has one waiting; "
      "isolation of memory and faults, which only MIG and VMs give, is not in these numbers");
  return {};
}

}  // namespace partita::study
