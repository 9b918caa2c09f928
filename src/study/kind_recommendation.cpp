#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/table.h"
#include "study/kinds.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct Wanted {
  Job inference, training;
  double slo_s = 0;
  bool trains = true, exception = false;
};

struct Option {
  Place place;
  double slices = 0;  // of compute that it takes from the others, memory counted
  predict::Prediction inference, training;
  bool serves = false, trains = false;
  double per_slice = 0, training_per_slice = 0;
};

struct Question {
  std::shared_ptr<const catalog::Board> board;
  std::vector<Wanted> wanted;
  double close = 0.05;
};

// What a profile takes from the others: its compute slices, or its share of the memory where that is more.
double slices_taken(const catalog::Board& board, const catalog::Profile& p) {
  return std::max<double>(p.compute_slices,
                          static_cast<double>(p.memory_slices) * board.compute_slices / board.memory_slices);
}

Result<Question> read(const Fields& study, Context& context) {
  TRY_VOID(only_keys(study, {"board", "inference", "training"},
                     {"workloads", "inference_only_workloads", "exceptions", "draw_within"}));
  Question q;
  q.board = TRY(context.board(study, "board"));
  if (!q.board->has_mig())
    return study.error("board", fmt::format("{} has no MIG profiles to choose from", q.board->product));
  q.close = TRY(study.number("draw_within", 0, 1, q.close));
  const Fields inference = TRY(study.section("inference")), training = TRY(study.section("training"));
  TRY_VOID(inference.only({"batch", "slo_ms"}));
  TRY_VOID(training.only({"batch"}));
  const int batch = TRY(inference.integer("batch", 1, 1 << 20)),
            training_batch = TRY(training.integer("batch", 1, 1 << 20));
  const double slo = TRY(inference.number("slo_ms", 1e-3, 1e7)) / 1e3;
  auto names = TRY(study.texts("workloads"));
  if (names.empty())
    for (const auto& entry : predict::shipped_workloads()) names.push_back(entry.name);
  const auto only = TRY(study.texts("inference_only_workloads"));
  for (const std::string& name : names) {
    Wanted w;
    w.inference.workload = w.training.workload = name;
    w.inference.settings.batch = batch;
    w.training.settings.batch = training_batch;
    w.training.settings.mode = predict::Mode::training;
    w.slo_s = slo;
    w.trains = std::ranges::find(only, name) == only.end();
    if (auto known = context.workload(w.inference); !known) return study.error("workloads", known.error().message);
    q.wanted.push_back(std::move(w));
  }
  if (study.has("exceptions")) {
    for (const Fields& row : TRY(study.rows("exceptions"))) {
      TRY_VOID(row.only({"workload"}, {"batch", "slo_ms"}));
      const std::string name = TRY(row.text("workload"));
      const auto at = std::ranges::find_if(q.wanted, [&](const Wanted& w) { return w.inference.workload == name; });
      if (at == q.wanted.end())
        return row.error("workload", fmt::format("{} is not among the study's workloads", quote(name)));
      at->inference.settings.batch = TRY(row.integer("batch", 1, 1 << 20, at->inference.settings.batch));
      at->slo_s = TRY(row.number("slo_ms", 1e-3, 1e7, 1e3 * at->slo_s)) / 1e3;
      at->exception = true;
    }
  }
  return q;
}

Result<std::vector<Option>> options(const Question& q, const Wanted& w, Context& context) {
  std::vector<Option> out;
  for (const auto& profile : q.board->profiles) {
    if (profile.attributes != catalog::Attributes{}) continue;
    Option o{
        TRY(context.place(q.board, profile.name, false)), slices_taken(*q.board, profile), {}, {}, false, false, 0, 0};
    o.inference = TRY(context.predict(w.inference, o.place, w.inference.settings.batch, 1));
    o.serves = o.inference.fit == predict::Fit::fits && o.inference.step_ms.median <= 1e3 * w.slo_s;
    o.per_slice = o.inference.throughput.median / o.slices;
    if (w.trains) {
      o.training = TRY(context.predict(w.training, o.place, w.training.settings.batch, 1));
      o.trains = o.training.fit == predict::Fit::fits;
      o.training_per_slice = o.training.throughput.median / o.slices;
    }
    out.push_back(std::move(o));
  }
  std::ranges::sort(out, {}, [](const Option& o) { return std::pair(o.slices, o.place.profile()); });
  return out;
}

// The best per slice; where others come close, the smallest of them: more tenants, more places, less to move.
const Option* pick(const std::vector<Option>& all, double close, bool Option::* can, double Option::* score) {
  double best = 0;
  for (const Option& o : all)
    if (o.*can) best = std::max(best, o.*score);
  for (const Option& o : all)
    if (o.*can && o.*score >= best * (1 - close)) return &o;
  return nullptr;
}

std::string why(const Option& chosen, const std::vector<Option>& all, double slo_s) {
  std::vector<std::string> smaller;
  double best_larger = 0;
  std::string larger;
  for (const Option& o : all) {
    if (o.slices < chosen.slices || (o.slices == chosen.slices && &o < &chosen)) {
      if (o.inference.fit != predict::Fit::fits)
        smaller.push_back(o.place.name + " lacks memory");
      else if (o.inference.step_ms.median > 1e3 * slo_s)
        smaller.push_back(o.place.name + " misses the SLO");
      else
        smaller.push_back(
            fmt::format("{} gives {} less per slice", o.place.name, percent(1 - o.per_slice / chosen.per_slice)));
    } else if (&o != &chosen && o.serves && o.per_slice > best_larger) {
      best_larger = o.per_slice;
      larger = o.place.name;
    }
  }
  std::string text = smaller.empty() ? "the smallest" : list_of(smaller);
  if (!larger.empty()) {
    const double change = best_larger / chosen.per_slice - 1;
    text += fmt::format("; {} gives {} {} per slice", larger, percent(std::abs(change)), change < 0 ? "less" : "more");
  }
  return text;
}

report::Table flexibility(const Question& q, const std::map<std::string, int>& serve,
                          const std::map<std::string, int>& train, int trainable) {
  using report::Kind;
  report::Table t;
  t.title = "Profiles: what they can do, and what can change while others run";
  t.columns = {"profile",         "slices taken",     "at most per GPU",
               "places on a GPU", "workloads served", fmt::format("workloads trained (of {})", trainable)};
  t.kinds = {Kind::input, Kind::input, Kind::input, Kind::input, Kind::predicted, Kind::predicted};
  for (const auto& p : q.board->profiles) {
    if (p.attributes != catalog::Attributes{}) continue;
    const auto count = [&](const std::map<std::string, int>& of) { return of.contains(p.name) ? of.at(p.name) : 0; };
    t.rows.push_back({p.name, figure_of(slices_taken(*q.board, p)), std::to_string(p.max_instances),
                      std::to_string(p.placements.size()), std::to_string(count(serve)), std::to_string(count(train))});
  }
  return t;
}

void say(const std::string& what, const std::map<std::string, std::vector<std::string>>& chosen,
         report::Report& report) {
  for (const auto& [profile, workloads] : chosen)
    report.answer.push_back(profile.empty()
                                ? fmt::format("{}: no profile meets memory and SLO for {}.", what, list_of(workloads))
                                : fmt::format("{}: {} for {}.", what, profile, list_of(workloads)));
}

}  // namespace

Result<void> recommendation(const Fields& study, Context& context, report::Report& report) {
  using report::Kind;
  const Question q = TRY(read(study, context));
  report::Table t;
  t.title = "The profile to take";
  t.columns = {"workload", "inference on", "per second", "per slice", "ms per step",       "memory (GiB of GiB)",
               "why",      "training on",  "per second", "per slice", "for inference only"};
  t.kinds.assign(t.columns.size(), Kind::predicted);
  t.kinds[0] = Kind::input;
  std::map<std::string, std::vector<std::string>> serve, train;
  std::map<std::string, int> serves, trains;
  int trainable = 0;
  for (std::size_t i = 0; i < q.wanted.size(); ++i) {
    const Wanted& w = q.wanted[i];
    const auto* workload = TRY(context.workload(w.inference));
    context.progress().step(static_cast<int>(i) + 1, static_cast<int>(q.wanted.size()), workload->title);
    const auto all = TRY(options(q, w, context));
    const Option* infer = pick(all, q.close, &Option::serves, &Option::per_slice);
    const Option* learn = w.trains ? pick(all, q.close, &Option::trains, &Option::training_per_slice) : nullptr;
    serve[infer ? infer->place.name : ""].push_back(workload->title);
    if (w.trains) train[learn ? learn->place.name : ""].push_back(workload->title);
    trainable += w.trains ? 1 : 0;
    std::vector<std::string> only;
    for (const Option& o : all) {
      serves[o.place.name] += o.serves ? 1 : 0;
      trains[o.place.name] += o.trains ? 1 : 0;
      if (o.serves && !o.trains) only.push_back(o.place.name);
    }
    std::vector<std::string> row{
        workload->title +
        (w.exception ? fmt::format(" (batch {} within {})", w.inference.settings.batch, milliseconds(w.slo_s)) : "")};
    if (infer) {
      const auto& p = infer->inference;
      row.insert(row.end(), {infer->place.name, interval_of(p.throughput) + " " + workload->unit,
                             figure_of(infer->per_slice), figure_of(p.step_ms.median),
                             fmt::format("{:.1f} of {:.1f}", p.memory_mib.median / 1024, p.capacity_mib / 1024),
                             why(*infer, all, w.slo_s)});
    } else {
      row.insert(row.end(), {"none", "–", "–", "–", "–", "no profile meets memory and SLO"});
    }
    if (learn)
      row.insert(row.end(),
                 {learn->place.name, interval_of(learn->training.throughput), figure_of(learn->training_per_slice)});
    else
      row.insert(row.end(), {w.trains ? "none" : "not asked", "–", "–"});
    row.push_back(only.empty() ? "–" : list_of(only));
    t.rows.push_back(std::move(row));
  }
  const auto usual = std::ranges::find(q.wanted, false, &Wanted::exception);
  const Wanted& any = usual == q.wanted.end() ? q.wanted.front() : *usual;
  report.answer.push_back(fmt::format(
      "Inference at batch {} within {}, training at batch {}, all neighbours busy; the profile with the most "
      "throughput per slice, and the smallest of those within {} of it (predicted).",
      any.inference.settings.batch, milliseconds(any.slo_s), any.training.settings.batch, percent(q.close)));
  say("Inference", serve, report);
  say("Training", train, report);
  std::vector<std::string> none, some;
  for (const auto& [profile, count] : trains) {
    if (count == 0)
      none.push_back(profile);
    else if (count < trainable)
      some.push_back(fmt::format("{} ({} of {} train)", profile, count, trainable));
  }
  if (!none.empty())
    report.answer.push_back(fmt::format("For inference only, whatever the workload: {}.", list_of(none)));
  if (!some.empty()) report.answer.push_back(fmt::format("For inference only for some workloads: {}.", list_of(some)));
  const auto slices = [&](const catalog::Profile& p) {
    return p.attributes == catalog::Attributes{} ? p.compute_slices : 0;
  };
  const auto largest = std::ranges::max_element(q.board->profiles, {}, slices);
  const auto places = [](const catalog::Profile& p) { return p.placements.size(); };
  const auto movable = std::ranges::max_element(q.board->profiles, {}, places);
  report.answer.push_back(fmt::format(
      "What can change while others run: {} has {} places on a GPU and comes and goes without touching the other "
      "instances; {} has {} and needs every instance in its way gone first.",
      movable->name, movable->placements.size(), largest->name,
      largest->placements.size() == 1 ? "one place" : fmt::format("{} places", largest->placements.size())));
  report.sections.push_back({"Workloads", {}, {std::move(t)}});
  report.sections.push_back({"Profiles", {}, {flexibility(q, serves, trains, trainable)}});
  return {};
}

}  // namespace partita::study
