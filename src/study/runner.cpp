#include "study/runner.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "catalog/embedded.h"
#include "study/kinds.h"
#include "study/words.h"

namespace partita::study {
namespace {

struct KindEntry {
  std::string_view name;
  Kind* run;
};
constexpr KindEntry kKinds[] = {{"predictions", predictions},       {"layouts", layouts},
                                {"simulation", simulation},         {"fleet", fleet},
                                {"recommendation", recommendation}, {"modes", modes}};

Result<const KindEntry*> kind_of(const Fields& study) {
  const std::string name = TRY(study.text("kind"));
  std::vector<std::string> names;
  for (const KindEntry& kind : kKinds) {
    if (kind.name == name) return &kind;
    names.emplace_back(kind.name);
  }
  return study.error("kind", fmt::format("expected one of {}, found {}", join(names, ", "), quote(name)));
}

std::string name_of(std::string_view path) {
  return std::string(path.substr(8, path.size() - 8 - 5));  // studies/ and .yaml
}

struct Shipped {
  StudyEntry entry;
  int order = 0;
};

}  // namespace

Result<void> only_keys(const Fields& study, Fields::Keys required, Fields::Keys optional) {
  std::vector<std::string> known;
  for (const auto keys :
       {std::span<const std::string_view>(kHeadRequired), std::span<const std::string_view>(kHeadOptional),
        std::span<const std::string_view>(required), std::span<const std::string_view>(optional)}) {
    known.insert(known.end(), keys.begin(), keys.end());
  }
  for (const std::string& key : study.keys()) {
    if (std::ranges::find(known, key) == known.end()) {
      const std::string hint = did_you_mean(key, known);
      return study.error(key,
                         "unknown key" + (hint.empty() ? "; a study of this kind has " + join(known, ", ") : hint));
    }
  }
  for (const std::string_view key : required) {
    if (!study.has(key)) return study.error(key, fmt::format("expected the key \"{}\", which is missing", key));
  }
  return {};
}

Result<std::vector<StudyEntry>> shipped_studies() {
  std::vector<Shipped> all;
  for (const std::string_view path : catalog::embedded_files("studies/")) {
    const auto document = TRY(parse_yaml(catalog::embedded_file(path).value_or(""), std::string(path)));
    const Fields head({&document, ""}, document.root);
    all.push_back({{name_of(path), TRY(head.text("title")), TRY(head.text("question"))},
                   TRY(head.integer("order", 0, 1000, 1000))});
  }
  std::ranges::sort(all, {}, [](const Shipped& s) { return std::pair(s.order, s.entry.name); });
  std::vector<StudyEntry> out;
  for (Shipped& shipped : all) out.push_back(std::move(shipped.entry));
  return out;
}

Result<std::string_view> shipped_study(std::string_view name) {
  if (auto text = catalog::embedded_file(fmt::format("studies/{}.yaml", name))) return *text;
  std::vector<std::string> names;
  for (const std::string_view path : catalog::embedded_files("studies/")) names.push_back(name_of(path));
  const std::string hint = did_you_mean(name, names);
  return fail(ErrorCode::not_found, fmt::format("no study {} is shipped{}", quote(name),
                                                hint.empty() ? "; there are " + join(names, ", ") : hint));
}

Result<report::Report> run_study(std::string_view text, const std::string& file, catalog::Catalog& catalog,
                                 const StudyOptions& options, Progress& progress) {
  const auto document = TRY(parse_yaml(text, file));
  const Fields study({&document, ""}, document.root);
  TRY_VOID(as_mapping({&document, ""}, document.root));
  report::Report report;
  report.title = TRY(study.text("title"));
  report.question = TRY(study.text("question"));
  report.command = options.command;
  const KindEntry* kind = TRY(kind_of(study));
  const predict::Constants* constants = options.constants ? options.constants : TRY(predict::shipped_constants());
  Context context(catalog, *constants, options, progress);
  if (options.measure && kind->run != simulation) {
    return study.error("kind", "only studies of kind simulation can be measured");
  }
  TRY_VOID(context.read_head(study));
  context.rests_on(fmt::format("predicted times and memory: the model of partita predict, {}", constants->fitted_on));
  if (auto done = kind->run(study, context, report); !done) {
    // Errors of the file carry their place already.
    if (done.error().message.starts_with(file)) return std::unexpected(done.error());
    return std::unexpected(in_context(file, done.error()));
  }
  for (std::string& line : context.take_rests_on()) report.rests_on.push_back(sentence(std::move(line)));
  return report;
}

Result<report::Report> run_shipped_study(std::string_view name, catalog::Catalog& catalog, const StudyOptions& options,
                                         Progress& progress) {
  return run_study(TRY(shipped_study(name)), fmt::format("{}.yaml", name), catalog, options, progress);
}

}  // namespace partita::study
