#include "cli/verbs/predict_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/csv.h"
#include "base/file.h"
#include "base/text.h"
#include "predict/dataset.h"
#include "predict/dataset_columns.h"
#include "predict/library.h"

namespace partita::cli {
namespace {

constexpr int kMaxBatch = 1'000'000;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

std::string shown(const std::string& file) { return file == "-" ? "standard input" : file; }

// The value that a word of an option stands for.
template <class T, std::size_t n>
Result<T> word(const Parsed& parsed, std::string_view key, const api::Words<T, n>& words, T otherwise) {
  const auto given = parsed.text(key);
  if (!given) return otherwise;
  std::vector<std::string> names;
  for (const auto& [name, value] : words) {
    if (name == *given) return value;
    names.emplace_back(name);
  }
  return fail(ErrorCode::invalid,
              fmt::format("option --{}: expected {}, found {}", key, fmt::join(names, ", "), quote(*given)));
}

std::optional<int> batch_in(std::string_view text) {
  const std::string digits(trim(text));
  if (digits.empty() || digits.size() > 7 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const int batch = std::stoi(digits);
  return batch >= 1 && batch <= kMaxBatch ? std::optional(batch) : std::nullopt;
}

// N, or A..B: both ends and the powers of two between.
Result<void> read_batches(const Parsed& parsed, api::PredictRequest& request) {
  const auto given = parsed.text("batch");
  if (!given) return {};
  const auto dots = given->find("..");
  const auto first = batch_in(given->substr(0, dots));
  const auto last = dots == std::string::npos ? first : batch_in(given->substr(dots + 2));
  if (!first || !last)
    return fail(ErrorCode::invalid,
                fmt::format("option --batch: expected a whole number from 1 to {}, or a range 1..256, found {}",
                            kMaxBatch, quote(*given)));
  if (*first > *last)
    return fail(ErrorCode::invalid,
                fmt::format("option --batch: the range {} is empty: write {}..{}", *given, *last, *first));
  auto& batches = request.query.batches = {*first};
  for (int power = 1; power < *last; power *= 2)
    if (power > *first) batches.push_back(power);
  if (*last > *first) batches.push_back(*last);
  request.batch_range = *last > *first;
  return {};
}

Result<void> read_settings(const Parsed& parsed, predict::Settings& settings) {
  settings.mode = parsed.flag("training") ? predict::Mode::training : predict::Mode::inference;
  settings.sequence = TRY(parsed.number("sequence", 1, 10'000'000));
  settings.matmul = TRY(word(parsed, "precision", api::kPrecisionWords, settings.matmul));
  if (parsed.flag("precision")) settings.convolution = settings.matmul;
  settings.framework = TRY(word(parsed, "framework", api::kFrameworkWords, settings.framework));
  settings.optimizer = TRY(word(parsed, "optimizer", api::kOptimizerWords, settings.optimizer));
  if (parsed.flag("optimizer") && !parsed.flag("training"))
    return fail(ErrorCode::invalid, "option --optimizer: inference has no optimizer; add --training or leave it out");
  settings.copy_inside_step = parsed.flag("copy-inside");
  settings.processes = TRY(parsed.number("processes", 1, 128)).value_or(1);
  return {};
}

Result<std::shared_ptr<const catalog::Board>> board_called(catalog::Catalog& catalog, const std::string& asked) {
  const auto id = lower(asked);
  if (id.empty()) return fail(ErrorCode::invalid, "option --board needs a value: BOARD");
  std::vector<std::string> matching;
  for (const auto& entry : catalog.boards()) {
    if (entry.id == id) return catalog.board(id);
    if (entry.id.starts_with(id)) matching.push_back(entry.id);
  }
  if (matching.size() > 1)
    return fail(ErrorCode::invalid,
                fmt::format("option --board: {} may be {}: give one of them", quote(asked), fmt::join(matching, ", ")));
  return catalog.board(matching.empty() ? asked : matching.front());
}

std::vector<std::string> known_boards(const catalog::Catalog& catalog) {
  std::vector<std::string> ids;
  for (const auto& entry : catalog.boards()) ids.push_back(entry.id);
  return {"boards: " + join(ids, ", ")};
}

// The first setting that a file of points tells and that differs from what is asked; "" where none does.
template <class Tells>
std::string other_setting(const predict::Settings& row, const predict::Settings& asked, const Tells& tells) {
  const bool precision = tells("precision");
  if (tells("mode") && row.mode != asked.mode) return "of another mode";
  if ((precision || tells("matmul")) && row.matmul != asked.matmul) return "of another precision";
  if ((precision || tells("convolution")) && row.convolution != asked.convolution) return "of another precision";
  if (asked.sequence && row.sequence && row.sequence != asked.sequence) return "of another sequence length";
  if (tells("framework") && row.framework != asked.framework) return "of another framework";
  if (tells("processes") && row.processes != asked.processes) return "of another number of processes";
  if (tells("copy_inside_step") && row.copy_inside_step != asked.copy_inside_step) return "of another kind of copy";
  if (tells("optimizer") && asked.mode == predict::Mode::training && row.optimizer != asked.optimizer)
    return "of another optimizer";
  return "";
}

// Why a measured row says nothing about what is asked; "" where it does.
template <class Tells>
std::string beside_the_question(const predict::Measurement& row, const std::string& board, const std::string& workload,
                                const Tells& tells, const api::PredictRequest& request) {
  if (row.board != board) return "of another board";
  if (!row.left_out.empty()) return row.left_out;
  if (row.out_of_memory || !row.step_ms) return "no time";
  if (!workload.empty() && row.workload != workload) return "of another workload";
  return workload.empty() ? "" : other_setting(row.settings, request.settings, tells);
}

}  // namespace

Result<predict::Constants> constants_of(const Parsed& parsed) {
  if (const auto path = parsed.text("constants")) {
    const auto text = TRY(read_file(*path));
    return predict::read_constants(text, shown(*path));
  }
  return *TRY(predict::shipped_constants());
}

Result<api::PredictRequest> predict_request(const Parsed& parsed, const predict::Constants& constants) {
  api::PredictRequest out;
  TRY_VOID(read_batches(parsed, out));
  TRY_VOID(read_settings(parsed, out.settings));
  out.settings.batch = out.query.batches.front();
  out.need.throughput = TRY(parsed.real("throughput", 0, kNoLimit));
  out.need.latency_ms = TRY(parsed.real("latency", 0, kNoLimit));
  out.need.share = TRY(parsed.real("share", 0, 1));
  out.query.busy_neighbours = TRY(parsed.real("neighbours", 0, 1)).value_or(0);
  out.query.virtualised = parsed.flag("virtualised");
  out.query.whole_gpu = parsed.flag("whole-gpu");
  out.query.compute_instances = parsed.flag("compute-instances");
  if (const auto name = parsed.text("host")) {
    out.query.host = constants.host(*name);
    std::vector<std::string> names;
    for (const auto& host : constants.hosts) names.push_back(host.name);
    if (!out.query.host)
      return fail(ErrorCode::not_found,
                  fmt::format("option --host: no host is called {}; known: {}", quote(*name), fmt::join(names, ", ")));
  }
  return out;
}

Result<predict::Workload> workload_of(const Parsed& parsed, std::optional<int> sequence) {
  const auto name = parsed.text("WORKLOAD");
  if (!name || name->empty())
    return fail(ErrorCode::invalid, "predict needs WORKLOAD: a shipped workload, a workload file, or -",
                {"partita predict --list names the shipped ones"});
  const bool file = *name == "-" || name->find('/') != std::string::npos || name->ends_with(".yaml") ||
                    name->ends_with(".yml") || name->ends_with(".json");
  if (name->ends_with(".onnx"))
    return fail(ErrorCode::invalid, fmt::format("{}: an ONNX model becomes a workload file first: partita-onnx {} > "
                                                "model.yaml",
                                                *name, *name));
  if (file) {
    const auto text = TRY(read_file(*name));
    return predict::read_workload(text, shown(*name), sequence);
  }
  auto shipped = predict::shipped_workload(*name, sequence);
  if (!shipped && shipped.error().code == ErrorCode::not_found)
    shipped.error().details.emplace_back("partita predict --list names the shipped ones; your own is a file: ./" +
                                         *name + ".yaml");
  return shipped;
}

Result<std::vector<std::shared_ptr<const catalog::Board>>> boards_of(const Parsed& parsed) {
  auto catalog = TRY(open_catalog(parsed));
  if (const auto asked = parsed.text("board")) {
    if (parsed.flag("emulate"))
      return fail(ErrorCode::invalid, "options --board and --emulate do not go together: give one of them");
    return std::vector{TRY(board_called(catalog, *asked))};
  }
  const auto session = open_session(parsed);
  if (!session && session.error().code == ErrorCode::unavailable && !parsed.flag("emulate")) {
    auto details = known_boards(catalog);
    details.push_back("this machine: " + session.error().message);
    return fail(ErrorCode::invalid, "predict needs a board: --board BOARD, or --emulate NODE", std::move(details));
  }
  if (!session) return std::unexpected(session.error());
  const auto state = TRY((*session)->node->state());
  std::vector<std::shared_ptr<const catalog::Board>> out;
  for (const auto& gpu : state.gpus)
    if (gpu.board && std::ranges::none_of(out, [&](const auto& each) { return each->id == gpu.board->id; }))
      out.push_back(gpu.board);
  if (out.empty())
    return fail(ErrorCode::not_found, "no GPU of this node is a board that is known: give one with --board",
                known_boards(catalog));
  return out;
}

Result<MeasuredPoints> measured_points(const std::string& path, const catalog::Board& board,
                                       const std::string& workload, const api::PredictRequest& request) {
  const auto text = TRY(read_file(path));
  const auto table = TRY(parse_csv(text, shown(path)));
  const auto tells = [&](std::string_view column) {
    return std::ranges::any_of(table.columns, [&](const auto& each) {
      const auto known = predict::known_column(each);
      return known && known->name == column;
    });
  };
  for (const auto* column : {"profile", "batch"}) {
    if (!tells(column))
      return fail(ErrorCode::invalid, fmt::format("{}: no column tells the {}", table.file, column),
                  {table.columns.size() == 1 ? "are the cells separated by commas?"
                                             : "expected columns: profile,batch,latency_ms (or throughput)"});
  }
  const auto set = TRY(predict::read_measurements(
      table, "measured", {{"board", board.id}, {"workload", workload.empty() ? "measured" : workload}}));
  auto library = TRY(predict::Library::open());
  MeasuredPoints out;
  std::map<std::string, int> beside;
  for (auto row : set.rows) {
    if (row.board != board.id) {
      const auto found = library.find(row.board, row.profile);
      row.board = found ? found->partition.board->id : "";
    }
    if (const auto known = library.workload(row.workload, std::nullopt)) row.workload = (*known)->name;
    const auto why = beside_the_question(row, board.id, workload, tells, request);
    if (!why.empty()) {
      ++beside[why];
      continue;
    }
    auto partition = predict::partition_on(board, row.profile);
    if (!partition) return std::unexpected(in_context(fmt::format("{}:{}", table.file, row.line), partition.error()));
    const double step_ms = row.step_ms.value_or(0);  // there: else it is beside the question
    if (row.contradictory)
      return fail(
          ErrorCode::invalid,
          fmt::format("{}:{}: contradictory: batch {} in {:.4g} ms is not {:.4g} samples/s; keep the one that was "
                      "measured",
                      table.file, row.line, row.settings.batch, step_ms, row.throughput.value_or(0)));
    predict::Point point;
    point.partition = *partition;
    point.partition.busy_neighbours = row.neighbours;
    point.partition.virtualised = row.virtualised || request.query.virtualised;
    point.partition.host = request.query.host;
    point.batch = row.settings.batch;
    point.step_ms = step_ms;
    // A throughput given alone was turned into a step of one process.
    if (!tells("processes") && !tells("latency_ms")) point.step_ms *= request.settings.processes;
    out.points.push_back(point);
  }
  for (const auto& [why, rows] : beside)
    out.notes.push_back(
        fmt::format("{}: {} not used: {}", table.file, count_of(static_cast<std::size_t>(rows), "row"), why));
  if (!set.unused_columns.empty())
    out.notes.push_back(fmt::format("{}: columns not used: {}", table.file, join(set.unused_columns, ", ")));
  if (out.points.empty()) {
    auto details = out.notes;
    details.emplace_back("expected columns: profile,batch,latency_ms (or throughput)");
    return fail(ErrorCode::invalid, fmt::format("{}: no measured point for {}", table.file, board.id), details);
  }
  return out;
}

}  // namespace partita::cli
