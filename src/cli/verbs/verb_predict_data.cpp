// partita predict fit and validate: constants from measured data, and how good predictions are.
#include <fmt/format.h>

#include <filesystem>

#include "api/json.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/draw/progress.h"
#include "cli/verbs/predict_options.h"
#include "cli/verbs/run.h"
#include "predict/fit.h"
#include "predict/validate.h"

namespace partita::cli {
namespace {

std::string shown(const std::string& path) { return path == "-" ? "standard input" : path; }

Result<predict::DataSet> data_set(const Parsed& parsed, const std::string& path) {
  const auto text = TRY(read_file(path));
  auto table = TRY(parse_csv(text, shown(path)));
  if (const auto mapping = parsed.text("mapping")) {
    const auto rules = TRY(read_file(*mapping));
    const auto read = TRY(predict::read_own_mapping(rules, shown(*mapping)));
    table = TRY(predict::apply_mapping(read, table));
  }
  predict::Defaults defaults;
  for (const auto& given : parsed.all("set")) {
    auto value = predict::read_default(given);
    if (!value) return std::unexpected(in_context("option --set", value.error()));
    defaults.push_back(*std::move(value));
  }
  return predict::read_measurements(table, path == "-" ? shown(path) : std::filesystem::path(path).stem().string(),
                                    defaults);
}

Result<predict::Library> library_of(const Parsed& parsed) {
  const auto folder = parsed.text("data");
  auto library = TRY(predict::Library::open(folder ? std::optional<std::filesystem::path>(*folder) : std::nullopt));
  for (const auto& path : parsed.all("workload")) {
    auto text = TRY(read_file(path));
    TRY_VOID(library.add(std::move(text), shown(path)));
  }
  return library;
}

// These options say something about CSV.
Result<void> needs_csv(const Parsed& parsed) {
  if (parsed.flag("CSV")) return {};
  for (const auto* option : {"mapping", "set", "workload"})
    if (parsed.flag(option))
      return fail(ErrorCode::invalid, fmt::format("option --{} goes with a CSV of yours: name one", option));
  return {};
}

Result<void> no_format(const Parsed& parsed, std::string_view what) {
  if (!parsed.flag("output") || parsed.text("output") == "table") return {};
  return fail(ErrorCode::invalid, fmt::format("{} prints {}: leave -o out", parsed.verb->name, what));
}

DrawnProgress progress_of(const Parsed& parsed) {
  return {look_of(2, parsed.flag("no-color")), DrawnProgress::Steps::drawn};
}

}  // namespace

Result<int> run_predict_fit(const Parsed& parsed) {
  TRY_VOID(no_format(parsed, "constants as YAML"));
  TRY_VOID(needs_csv(parsed));
  const auto path = parsed.text("CSV");
  const auto set = path ? TRY(data_set(parsed, *path)) : TRY(predict::shipped_datasets()).front();
  auto library = TRY(library_of(parsed));
  const auto report = TRY(predict::fit(library, set));
  const auto text = predict::write_constants(report.constants);
  const auto file = parsed.text("output-file").value_or("-");
  if (file == "-") {
    TRY_VOID(print(text));
    return 0;
  }
  TRY_VOID(write_file_atomically(file, text));
  TRY_VOID(print(fmt::format(
      "fitted on {}: {} rows, {} left out; error mean {:.1f} %, median {:.1f} %, 90th percentile "
      "{:.1f} %\nwrote {}\n",
      set.name, report.rows, report.left_out, 100 * report.mean, 100 * report.median, 100 * report.p90, file)));
  return 0;
}

Result<int> run_predict_validate(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto page = parsed.text("page");
  if (page && format != Format::table) return fail(ErrorCode::invalid, "option --page writes Markdown: leave -o out");
  TRY_VOID(needs_csv(parsed));
  const auto constants = TRY(constants_of(parsed));
  std::vector<predict::DataSet> sets;
  for (const auto& path : parsed.all("CSV")) sets.push_back(TRY(data_set(parsed, path)));
  if (sets.empty()) sets = TRY(predict::shipped_datasets());
  auto library = TRY(library_of(parsed));
  auto progress = progress_of(parsed);
  std::vector<predict::SetReport> reports;
  for (const auto& set : sets) {
    progress.step(static_cast<int>(reports.size()) + 1, static_cast<int>(sets.size()), set.name);
    reports.push_back(TRY(predict::validate(library, constants, set)));
  }
  if (format != Format::table) {
    TRY_VOID(print_json(format, api::to_json(reports)));
    return 0;
  }
  if (page && *page != "-") {
    TRY_VOID(write_file_atomically(*page, predict::prediction_page(reports, constants)));
    TRY_VOID(print("wrote " + *page + '\n'));
    return 0;
  }
  TRY_VOID(print(page ? predict::prediction_page(reports, constants) : predict::to_markdown(reports)));
  return 0;
}

}  // namespace partita::cli
