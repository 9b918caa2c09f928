#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/table.h"
#include "study/kinds.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Row {
  Place place;
  predict::Prediction prediction;
  std::optional<int> largest;
  double largest_rate = 0;
  bool runs() const { return prediction.fit == predict::Fit::fits; }
};

struct Loss {
  std::string from, to, what;
  std::optional<double> below;
};

struct Question {
  Job job;
  const predict::Workload* workload = nullptr;
  std::vector<Row> rows;
  std::vector<int> batches;
  std::vector<Loss> losses;
  int most = 0;
};

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(only_keys(study, {"job", "places"}, {"batches", "losses", "largest_batch_up_to"}));
  Question q;
  const Fields job = TRY(study.section("job"));
  q.job = TRY(context.read_job(job));
  q.workload = TRY(context.workload(q.job));
  for (const Fields& row : TRY(study.rows("places"))) {
    TRY_VOID(row.only({"board"}, {"name", "profile", "vgpu", "virtualised"}));
    q.rows.push_back({TRY(context.read_place(row)), {}, {}, 0});
  }
  q.batches = TRY(study.integers("batches", 1, 1 << 20));
  q.most = TRY(study.integer("largest_batch_up_to", 1, 1 << 20, 1 << 14));
  if (study.has("losses")) {
    for (const Fields& row : TRY(study.rows("losses"))) {
      TRY_VOID(row.only({"from", "to", "what"}, {"below"}));
      Loss loss{TRY(row.text("from")), TRY(row.text("to")), TRY(row.text("what")), {}};
      if (row.has("below")) loss.below = TRY(row.number("below", 0, 1));
      for (const std::string_view key : {"from", "to"}) {
        const std::string& name = key == "from" ? loss.from : loss.to;
        if (std::ranges::none_of(q.rows, [&](const Row& r) { return r.place.name == name; }))
          return row.error(key, fmt::format("no place is called {}", quote(name)));
      }
      q.losses.push_back(std::move(loss));
    }
  }
  return q;
}

report::Figure rates(const Question& q, Context& context, Result<void>& status) {
  report::Figure figure;
  figure.title = fmt::format("{}: throughput by place", job_title(*q.workload, q.job));
  figure.y_title = fmt::format("throughput ({}/s)", q.workload->unit);
  figure.x_title = "place";
  for (const Row& row : q.rows) figure.x.push_back(row.place.name);
  const std::vector<int> batches = q.batches.empty() ? std::vector<int>{q.job.settings.batch} : q.batches;
  figure.shape = batches.size() > 1 ? report::Figure::Shape::grouped_bars : report::Figure::Shape::bars;
  for (const int batch : batches) {
    report::Series series{fmt::format("batch {}", batch), report::Kind::predicted, {}};
    for (const Row& row : q.rows) {
      auto p = context.predict(q.job, row.place, batch);
      if (!p) status = std::unexpected(p.error());
      series.values.push_back(p && p->fit == predict::Fit::fits ? std::optional(value_of(p->throughput))
                                                                : std::nullopt);
    }
    figure.series.push_back(std::move(series));
  }
  figure.note = "Predicted, with 90 % intervals. No bar: does not fit, or not for certain.";
  return figure;
}

report::Table table(const Question& q) {
  using report::Kind;
  report::Table t;
  t.title = job_title(*q.workload, q.job);
  t.columns = {"place",
               q.workload->unit + "/s",
               "ms per step",
               "of the first place",
               "memory (GiB of GiB)",
               "fits",
               "bound by",
               "largest batch",
               q.workload->unit + "/s at it"};
  t.kinds = {Kind::input,     Kind::predicted, Kind::predicted, Kind::predicted, Kind::predicted,
             Kind::predicted, Kind::predicted, Kind::predicted, Kind::predicted};
  const double first = q.rows.front().prediction.throughput.median;
  for (const Row& row : q.rows) {
    const auto& p = row.prediction;
    const bool runs = row.runs();
    t.rows.push_back({row.place.name, runs ? interval_of(p.throughput) : "–", runs ? interval_of(p.step_ms) : "–",
                      runs && q.rows.front().runs() ? percent(p.throughput.median / first) : "–",
                      fmt::format("{:.1f} of {:.1f}", p.memory_mib.median / 1024, p.capacity_mib / 1024),
                      std::string(predict::name(p.fit)), runs ? std::string(predict::name(p.bound)) : "–",
                      row.largest ? std::to_string(*row.largest) : "none",
                      row.largest ? figure_of(row.largest_rate) : "–"});
  }
  return t;
}

void say_rates(const Question& q, report::Report& report) {
  const std::string verb = fmt::format(
      "{} at batch {}", q.job.settings.mode == predict::Mode::training ? "train" : "run", q.job.settings.batch);
  std::vector<std::string> run, not_run;
  const Row& first = q.rows.front();
  for (const Row& row : q.rows) {
    const auto& p = row.prediction;
    if (row.runs()) {
      run.push_back(
          fmt::format("{} {} {}/s{}", row.place.name, figure_of(p.throughput.median), q.workload->unit,
                      &row == &first || !first.runs()
                          ? ""
                          : fmt::format(" ({})", percent(p.throughput.median / first.prediction.throughput.median))));
      continue;
    }
    std::string why = p.fit == predict::Fit::does_not_fit ? "cannot " + verb : "may or may not " + verb;
    std::string line = fmt::format("{} {}: it needs {} of the {} there", row.place.name, why,
                                   gibibytes(p.memory_mib.median), gibibytes(p.capacity_mib));
    line += row.largest ? fmt::format("; the largest batch that fits is {}, at {} {}/s", *row.largest,
                                      figure_of(row.largest_rate), q.workload->unit)
                        : "; not even one sample fits";
    not_run.push_back(sentence(line));
  }
  if (!run.empty()) {
    report.answer.push_back(fmt::format("{} (predicted): {}.", job_title(*q.workload, q.job), list_of(run)));
  }
  report.answer.insert(report.answer.end(), not_run.begin(), not_run.end());
}

void say_losses(const Question& q, report::Report& report) {
  for (const Loss& loss : q.losses) {
    const auto find = [&](const std::string& name) {
      return *std::ranges::find_if(q.rows, [&](const Row& r) { return r.place.name == name; });
    };
    const Row from = find(loss.from), to = find(loss.to);
    if (!from.runs() || !to.runs()) {
      report.answer.push_back(
          sentence(fmt::format("{}: cannot be told, it does not fit for certain on both places", loss.what)));
      continue;
    }
    const double lost = 1 - to.prediction.throughput.median / from.prediction.throughput.median;
    std::string line = fmt::format("{}: {} lost ({} against {})", loss.what, percent(lost), loss.to, loss.from);
    if (loss.below)
      line += fmt::format("{} the {} asked for", lost < *loss.below ? ", below" : ", NOT below", percent(*loss.below));
    report.answer.push_back(sentence(line));
  }
}

}  // namespace

Result<void> predictions(const Fields& study, Context& context, report::Report& report) {
  Question q = TRY(read(study, context));
  const int batch = q.job.settings.batch;
  for (std::size_t i = 0; i < q.rows.size(); ++i) {
    Row& row = q.rows[i];
    context.progress().step(static_cast<int>(i) + 1, static_cast<int>(q.rows.size()), row.place.name);
    row.prediction = TRY(context.predict(q.job, row.place, batch));
    row.largest = TRY(context.largest_batch(q.job, row.place, q.most));
    if (row.largest) row.largest_rate = TRY(context.predict(q.job, row.place, *row.largest)).throughput.median;
  }
  say_losses(q, report);
  say_rates(q, report);
  Result<void> status;
  report::Section section{"Throughput and memory", {}, {}};
  section.parts.emplace_back(rates(q, context, status));
  TRY_VOID(std::move(status));
  section.parts.emplace_back(table(q));
  report.sections.push_back(std::move(section));
  return {};
}

}  // namespace partita::study
