// Studies: a question, and the numbers and words that answer it. A study is a YAML file (docs/studies.md; schema:
// data/schemas/study.schema.json): data/studies/*.yaml are shipped, users write their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "catalog/catalog.h"
#include "predict/constants.h"
#include "report/report.h"
#include "study/provider.h"

namespace partita::study {

struct StudyEntry {
  std::string name;  // "noisy-neighbour"
  std::string title;
  std::string question;
};
// In the order in which they are best read.
Result<std::vector<StudyEntry>> shipped_studies();
// The YAML text of a shipped study; `not_found` with the nearest names.
Result<std::string_view> shipped_study(std::string_view name);

struct StudyOptions {
  std::uint64_t seed = 1;                         // the same study and seed give the same report
  const predict::Constants* constants = nullptr;  // nullptr: the shipped ones
  std::string command;                            // shown in the report
  // A scenario that takes more events is an error that says so; the default is about a minute's worth.
  std::uint64_t most_events = 300'000'000;
  // The text of a workload file that the study names, by the path that stands there. Without it such a path is refused.
  std::function<Result<std::string>(const std::string& path)> read_file = nullptr;
  // Runs the scenarios of a study of kind "simulation" for real, too, and shows measured beside simulated.
  std::optional<MeasureOptions> measure = std::nullopt;
};

// A study's text (`file` is what errors call it) read strictly, checked, computed. `invalid` names file, line and key;
// what cannot be (a layout that does not fit, a workload too large for its partition, demand beyond capacity) is
// either such an error or said in the report, never a silent number.
Result<report::Report> run_study(std::string_view text, const std::string& file, catalog::Catalog& catalog,
                                 const StudyOptions& options, Progress& progress);
// A shipped one by name.
Result<report::Report> run_shipped_study(std::string_view name, catalog::Catalog& catalog, const StudyOptions& options,
                                         Progress& progress);

}  // namespace partita::study
