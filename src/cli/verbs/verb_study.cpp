// partita study: a question answered by simulation, as a report.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/draw/progress.h"
#include "cli/draw/report_file.h"
#include "cli/draw/table.h"
#include "cli/verbs/node_partitions.h"
#include "cli/verbs/run.h"
#include "report/report.h"
#include "study/runner.h"

namespace partita::cli {
namespace {

Result<int> list(const Parsed& parsed) {
  const auto look = output_look(parsed);
  Table table({{"study"}, {"question"}});
  constexpr int kGap = 2;
  int widest = 0;
  const auto studies = TRY(study::shipped_studies());
  for (const auto& entry : studies) widest = std::max(widest, width_of(entry.name));
  for (const auto& entry : studies) {
    const int column = widest + kGap;
    const auto lines = split(wrapped(entry.question, std::min(look.width, 100) - column, 0), '\n');
    table.add({{entry.name, Tone::strong}, {lines.front()}});
    for (std::size_t i = 1; i < lines.size(); ++i) table.add_note({lines[i]});
  }
  TRY_VOID(print(table.draw(look)));
  return 0;
}

bool is_file(const std::string& name) {
  return name == "-" || name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

// The studies to run: each a shipped name or a file.
Result<std::vector<std::string>> asked_studies(const Parsed& parsed) {
  auto names = parsed.all("STUDY");
  if (parsed.flag("all")) {
    if (!names.empty()) return fail(ErrorCode::invalid, "study: --all runs all shipped studies: leave STUDY out");
    for (const auto& entry : TRY(study::shipped_studies())) names.push_back(entry.name);
  }
  if (names.empty())
    return fail(ErrorCode::invalid, "study needs STUDY, a shipped name or a file, or --all",
                {"partita study --list names the shipped ones"});
  for (const auto& name : names)
    if (!is_file(name)) TRY_VOID(study::shipped_study(name));
  return names;
}

// One bar over all studies: each study's own steps are a part of it.
class Within final : public Progress {
 public:
  Within(Progress& outer, int index, int count, std::string name)
      : outer_(outer), index_(index), count_(count), name_(std::move(name)) {}
  void step(int done, int total, std::string_view what) override {
    constexpr int kParts = 100;
    const int part = total > 0 ? std::min(kParts, kParts * done / total) : 0;
    outer_.step(index_ * kParts + part, count_ * kParts, name_ + ": " + std::string(what));
  }
  void note(std::string_view line) override { outer_.note(name_ + ": " + std::string(line)); }

 private:
  Progress& outer_;
  int index_, count_;
  std::string name_;
};

std::string command_of(const Parsed& parsed, const std::string& name) {
  std::string out = "partita study " + name;
  if (const auto seed = parsed.text("seed")) out += " --seed " + *seed;
  return out;
}

// Where measured runs run, and what must live as long.
struct Measurement {
  std::unique_ptr<Session> session;
  std::unique_ptr<study::PartitionProvider> provider;
};

Result<Measurement> prepare_measurement(const Parsed& parsed, study::StudyOptions& options) {
  Measurement out;
  if (!parsed.flag("measure")) {
    for (const auto* option : {"seconds", "warmup"})
      if (parsed.flag(option))
        return fail(ErrorCode::invalid, fmt::format("option --{} is for measured runs: add --measure", option));
    if (parsed.command) return fail(ErrorCode::invalid, "a command after -- is for measured runs: add --measure");
    return out;
  }
  if (!parsed.command)
    return fail(ErrorCode::invalid, "study --measure needs the command that each tenant runs, after --");
  study::MeasureOptions measure;
  measure.command = *parsed.command;
  TRY_VOID(find_program(measure.command.front()));
  measure.seconds = TRY(parsed.real("seconds", 0.1, 86'400)).value_or(10);
  measure.warmup_s = TRY(parsed.real("warmup", 0, 86'400)).value_or(0);
  if (measure.warmup_s >= measure.seconds)
    return fail(ErrorCode::invalid,
                fmt::format("option --warmup: {} s leave nothing of a run of {} s", measure.warmup_s, measure.seconds));
  if (parsed.flag("emulate")) {
    out.session = TRY(open_session(parsed));
    out.provider = std::make_unique<NodePartitions>(*out.session);
    const auto node = TRY(out.session->node->status()).node;
    measure.command = held_on_emulated(TRY(own_program()).string(), node, measure.command);
  } else {
    out.provider = std::make_unique<study::PlainProcesses>();
  }
  measure.provider = out.provider.get();
  options.measure = std::move(measure);
  return out;
}

Result<report::Report> run_one(const Parsed& parsed, const std::string& name, catalog::Catalog& catalog,
                               study::StudyOptions options, Progress& progress) {
  options.command = command_of(parsed, name);
  if (!is_file(name)) return study::run_shipped_study(name, catalog, options, progress);
  const auto text = TRY(read_file(name));
  // Files that the study names stand beside it.
  const auto folder = name == "-" ? std::filesystem::path() : std::filesystem::path(name).parent_path();
  options.read_file = [folder](const std::string& path) { return read_file((folder / path).string()); };
  return study::run_study(text, name == "-" ? "standard input" : name, catalog, options, progress);
}

std::string answer_in_words(const Look& look, const report::Report& report) {
  const int columns = std::min(look.width, 100);
  std::string out = paint(look, Tone::strong, printable(report.title)) + '\n';
  out += "  " + paint(look, Tone::faint, wrapped(printable(report.question), columns, 2, 2)) + '\n';
  for (const auto& sentence : report.answer) out += "  - " + wrapped(printable(sentence), columns, 4, 4) + '\n';
  return out + '\n';
}

}  // namespace

Result<int> run_study(const Parsed& parsed) {
  if (parsed.flag("output") && parsed.text("output") != "table")
    return fail(ErrorCode::invalid, "study writes a report: the format is --format, the file -O");
  if (parsed.flag("list")) return list(parsed);
  const auto given = parsed.text("output-file");
  const auto format = TRY(report_format(parsed, given));
  const auto file = given.value_or(default_file(format));
  study::StudyOptions options;
  options.seed = static_cast<std::uint64_t>(TRY(parsed.number("seed", 0, 2'147'483'647)).value_or(1));
  const auto names = TRY(asked_studies(parsed));
  if (file != "-") TRY_VOID(can_write_file(file));
  const auto measurement = TRY(prepare_measurement(parsed, options));
  auto catalog = TRY(open_catalog(parsed));
  std::vector<report::Report> reports;
  {
    const auto steps = parsed.flag("debug") ? DrawnProgress::Steps::all : DrawnProgress::Steps::drawn;
    DrawnProgress progress(look_of(2, parsed.flag("no-color")), steps);
    for (const auto& name : names) {
      Within within(progress, static_cast<int>(reports.size()), static_cast<int>(names.size()), name);
      reports.push_back(TRY(run_one(parsed, name, catalog, options, within)));
    }
  }
  if (file == "-") {
    TRY_VOID(print(written(reports, format, "Partita studies")));
    return 0;
  }
  TRY_VOID(write_file_atomically(file, written(reports, format, "Partita studies")));
  std::string out;
  for (const auto& report : reports) out += answer_in_words(output_look(parsed), report);
  TRY_VOID(print(out + "report: " + file + '\n'));
  return 0;
}

}  // namespace partita::cli
