#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "study/kinds.h"
#include "study/scenario_file.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Layout {
  std::string name;
  std::vector<Place> places;
};

struct Question {
  Job job;
  const predict::Workload* workload = nullptr;
  std::vector<Layout> layouts;
  std::vector<int> batches;  // ascending
  int reference = 1;
  double filled = 0.9;
  bool virtualised = false;
};

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(only_keys(study, {"board", "job", "batches", "layouts"}, {"virtualised", "filled"}));
  Question q;
  const Fields job = TRY(study.section("job"));
  q.job = TRY(context.read_job(job));
  q.workload = TRY(context.workload(q.job));
  q.reference = q.job.settings.batch;
  q.batches = TRY(study.integers("batches", 1, 1 << 20));
  if (q.batches.empty() || !std::ranges::is_sorted(q.batches, std::ranges::less_equal{}) ||
      std::ranges::find(q.batches, q.reference) == q.batches.end())
    return study.error("batches", fmt::format("expected ascending batches, the job's {} among them", q.reference));
  q.filled = TRY(study.number("filled", 0.01, 1, q.filled));
  q.virtualised = TRY(study.flag("virtualised", false));
  const auto board = TRY(context.board(study, "board"));
  for (const Fields& row : TRY(study.rows("layouts"))) {
    TRY_VOID(row.only({"partitions"}, {"name"}));
    Layout layout;
    std::vector<int> profiles;
    for (const std::string& name : TRY(row.texts("partitions"))) {
      auto place = context.place(board, name, q.virtualised);
      if (!place) return row.error("partitions", place.error().message);
      profiles.push_back(place->profile());
      layout.places.push_back(std::move(*place));
    }
    if (profiles.empty()) return row.error("partitions", "expected at least one profile, found none");
    if (auto legal = check_layout(*board, profiles); !legal) return row.error("partitions", legal.error().message);
    std::map<std::string, int, std::greater<>> counts;
    for (const Place& place : layout.places) ++counts[place.name];
    std::vector<std::string> parts;
    for (const auto& [name, count] : counts) parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
    std::string by_default;
    for (const std::string& part : parts) by_default += (by_default.empty() ? "" : " + ") + part;
    layout.name = TRY(row.text_or("name", by_default));
    q.layouts.push_back(std::move(layout));
  }
  return q;
}

int slices_of(const Place& p) { return p.board->profiles[static_cast<std::size_t>(p.profile())].compute_slices; }

// How much of the rest of the GPU's compute slices the other partitions of the layout use.
double busy_beside(const Layout& layout, std::size_t me) {
  int others = 0;
  for (std::size_t i = 0; i < layout.places.size(); ++i) others += i == me ? 0 : slices_of(layout.places[i]);
  const int rest = layout.places[me].board->compute_slices - slices_of(layout.places[me]);
  return rest > 0 ? std::min(1.0, static_cast<double>(others) / rest) : 0;
}

struct Total {
  predict::Estimate rate;
  bool fits = true;
};

Result<Total> total(const Question& q, const Layout& layout, int batch, Context& context) {
  Total sum;
  for (std::size_t i = 0; i < layout.places.size(); ++i) {
    const auto p = TRY(context.predict(q.job, layout.places[i], batch, busy_beside(layout, i)));
    sum.fits = sum.fits && p.fit == predict::Fit::fits;
    sum.rate.median += p.throughput.median;
    sum.rate.low += p.throughput.low;
    sum.rate.high += p.throughput.high;
  }
  return sum;
}

struct Fill {
  Place place;
  std::vector<std::optional<predict::Prediction>> at;  // by batch; nullopt: does not fit
  double best = 0;
  std::optional<int> batch;  // that fills it
};

Result<std::vector<Fill>> fills(const Question& q, Context& context) {
  std::vector<Fill> out;
  for (const Layout& layout : q.layouts) {
    for (const Place& place : layout.places) {
      if (std::ranges::any_of(out, [&](const Fill& f) { return f.place.name == place.name; })) continue;
      Fill fill{place, {}, 0, {}};
      for (const int batch : q.batches) {
        auto p = TRY(context.predict(q.job, place, batch));
        if (p.fit == predict::Fit::fits) fill.best = std::max(fill.best, p.throughput.median);
        fill.at.push_back(p.fit == predict::Fit::fits ? std::optional(std::move(p)) : std::nullopt);
      }
      for (std::size_t i = 0; i < q.batches.size() && !fill.batch; ++i)
        if (const auto& p = fill.at[i]; p && p->throughput.median >= q.filled * fill.best) fill.batch = q.batches[i];
      out.push_back(std::move(fill));
    }
  }
  return out;
}

std::string shown(const Place& place) {
  return place.vgpu.empty() ? place.name : fmt::format("{} ({})", place.name, place.vgpu);
}

// Share of the step in which the partition works: the rest it waits for the host.
Result<double> works(const Question& q, const Place& place, Context& context) {
  return TRY(context.gpu_s(q.job, place, q.reference)) / TRY(context.step_s(q.job, place, q.reference));
}

// The batches that the figure of layouts shows: the first, the job's, the one that fills the last partition to be
// filled, the last. All of them would be more bars than an eye tells apart.
std::vector<int> shown_batches(const Question& q, const std::vector<Fill>& all) {
  int filling = q.reference;
  for (const Fill& fill : all) filling = std::max(filling, fill.batch.value_or(q.batches.back()));
  std::vector<int> out{q.batches.front(), q.reference, filling, q.batches.back()};
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

Result<report::Section> by_layout(const Question& q, const std::vector<Fill>& all, Context& context) {
  report::Section section{"Layouts", {}, {}};
  report::Figure f;
  f.shape = report::Figure::Shape::grouped_bars;
  f.title = fmt::format("{}: all partitions of a layout together", q.workload->title);
  f.x_title = "layout";
  f.y_title = fmt::format("throughput ({}/s)", q.workload->unit);
  for (const Layout& layout : q.layouts) f.x.push_back(layout.name);
  for (const int batch : shown_batches(q, all)) {
    report::Series series{fmt::format("batch {}", batch), report::Kind::predicted, {}};
    for (const Layout& layout : q.layouts) {
      const Total t = TRY(total(q, layout, batch, context));
      series.values.push_back(t.fits ? std::optional(value_of(t.rate)) : std::nullopt);
    }
    f.series.push_back(std::move(series));
  }
  f.note = "Predicted; every partition works all the time. No bar: the batch does not fit for certain.";
  report::Table t;
  t.title = fmt::format("Layouts at batch {}", q.reference);
  t.columns = {"layout",
               "partitions",
               "total (" + q.workload->unit + "/s)",
               "per partition (" + q.workload->unit + "/s)",
               "ms per step",
               "partition busy in a step",
               "of the GPU's slices at work",
               "of the partition's best"};
  t.kinds.assign(t.columns.size(), report::Kind::predicted);
  t.kinds[0] = t.kinds[1] = report::Kind::input;
  for (const Layout& layout : q.layouts) {
    std::vector<std::string> names, each, steps, busy, filled;
    for (std::size_t i = 0; i < layout.places.size(); ++i) {
      if (i > 0 && layout.places[i].name == layout.places[i - 1].name) continue;
      const auto p = TRY(context.predict(q.job, layout.places[i], q.reference, busy_beside(layout, i)));
      const auto& fill =
          *std::ranges::find_if(all, [&](const Fill& x) { return x.place.name == layout.places[i].name; });
      names.push_back(shown(layout.places[i]));
      each.push_back(figure_of(p.throughput.median));
      steps.push_back(figure_of(p.step_ms.median));
      busy.push_back(percent(TRY(works(q, layout.places[i], context))));
      filled.push_back(percent(p.throughput.median / fill.best));
    }
    double at_work = 0;
    for (const Place& place : layout.places)
      at_work += TRY(works(q, place, context)) * slices_of(place) / place.board->compute_slices;
    const Total sum = TRY(total(q, layout, q.reference, context));
    const auto joined = [](const std::vector<std::string>& x) {
      std::string s;
      for (const auto& i : x) s += (s.empty() ? "" : " / ") + i;
      return s;
    };
    t.rows.push_back({layout.name, joined(names), interval_of(sum.rate), joined(each), joined(steps), joined(busy),
                      percent(at_work), joined(filled)});
  }
  section.parts.emplace_back(std::move(f));
  section.parts.emplace_back(std::move(t));
  return section;
}

report::Section by_partition(const Question& q, const std::vector<Fill>& all) {
  report::Section section{"Which batch fills a partition", {}, {}};
  report::Figure f;
  f.shape = report::Figure::Shape::lines;
  f.title = "share of the best throughput that a batch reaches";
  f.x_title = "batch";
  f.y_title = "share of the partition's best (%)";
  f.x_is_number = true;
  for (const int batch : q.batches) f.x.push_back(std::to_string(batch));
  for (const Fill& fill : all) {
    report::Series series{fill.place.name, report::Kind::predicted, {}};
    for (const auto& p : fill.at)
      series.values.push_back(p ? std::optional<report::Value>({100 * p->throughput.median / fill.best, {}, {}})
                                : std::nullopt);
    f.series.push_back(std::move(series));
  }
  f.note = fmt::format("Predicted. Filled: {} of the best of the batches shown.", percent(q.filled));
  section.parts.emplace_back(std::move(f));
  return section;
}

}  // namespace

Result<void> layouts(const Fields& study, Context& context, report::Report& report) {
  const Question q = TRY(read(study, context));
  const auto all = TRY(fills(q, context));
  const Layout* best = nullptr;
  double best_rate = 0, first_rate = 0;
  std::vector<std::string> totals;
  for (std::size_t i = 0; i < q.layouts.size(); ++i) {
    const Layout& layout = q.layouts[i];
    context.progress().step(static_cast<int>(i) + 1, static_cast<int>(q.layouts.size()), layout.name);
    const Total sum = TRY(total(q, layout, q.reference, context));
    totals.push_back(sum.fits ? fmt::format("{} {}", layout.name, figure_of(sum.rate.median))
                              : fmt::format("{} does not fit for certain", layout.name));
    if (i == 0) first_rate = sum.rate.median;
    if (sum.fits && sum.rate.median > best_rate) {
      best = &layout;
      best_rate = sum.rate.median;
    }
  }
  report.answer.push_back(fmt::format("{} (predicted, {}/s of all partitions together): {}.",
                                      job_title(*q.workload, q.job), q.workload->unit, list_of(totals)));
  if (best && best != &q.layouts.front())
    report.answer.push_back(
        fmt::format("Most from {}: {:.2f} times {}.", best->name, best_rate / first_rate, q.layouts.front().name));
  const auto at = static_cast<std::size_t>(std::ranges::find(q.batches, q.reference) - q.batches.begin());
  std::vector<std::string> filled;
  for (const Fill& fill : all) {
    const auto& here = fill.at[at];
    if (!here) continue;
    const double share = here->throughput.median / fill.best;
    if (share >= q.filled) {
      filled.push_back(shown(fill.place));
      continue;
    }
    const double busy = TRY(works(q, fill.place, context));
    report.answer.push_back(
        fmt::format("{} is not filled at batch {}: it reaches {} of its best, it works in {} of a step; from "
                    "batch {} on it reaches {} or more.",
                    shown(fill.place), q.reference, percent(share), percent(busy),
                    fill.batch.value_or(q.batches.back()), percent(q.filled)));
  }
  if (!filled.empty()) report.answer.push_back(fmt::format("Filled at batch {}: {}.", q.reference, list_of(filled)));
  report.sections.push_back(TRY(by_layout(q, all, context)));
  report.sections.push_back(by_partition(q, all));
  return {};
}

}  // namespace partita::study
