#include "predict/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "catalog/embedded.h"
#include "predict/dataset_columns.h"

namespace partita::predict {
namespace {

template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

const Words<Precision>& precisions() {
  static const Words<Precision> words{
      {"fp32", Precision::fp32},    {"tf32", Precision::tf32},   {"fp16", Precision::fp16},
      {"bf16", Precision::bf16},    {"int8", Precision::int8},   {"fp8", Precision::fp8},
      {"float32", Precision::fp32}, {"single", Precision::fp32}, {"float16", Precision::fp16},
      {"half", Precision::fp16},    {"amp", Precision::fp16},    {"bfloat16", Precision::bf16},
      {"float8", Precision::fp8}};
  return words;
}

// "Out of memory" and "out_of_memory" are one word.
std::string loose(std::string_view text) {
  std::string out;
  for (char c : lower(text)) {
    if (c != ' ' && c != '_' && c != '-') out += c;
  }
  return out;
}

// One row by the names of the documented columns.
class Row {
 public:
  Row(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  std::string text(std::string_view column) const {
    auto index = table_.column(column);
    return index ? table_.rows[row_][*index] : std::string{};
  }

  Result<std::optional<double>> number(std::string_view column, double low, double high) const {
    auto index = table_.column(column);
    if (!index) return std::optional<double>{};
    auto value = TRY(table_.number(row_, *index));
    if (value && !(*value >= low && *value <= high)) {
      return wrong(column, fmt::format("a number from {} to {}", low, high));
    }
    return value;
  }

  Result<int> count(std::string_view column, int otherwise) const {
    auto value = TRY(number(column, 1, 1e9));
    if (!value) return otherwise;
    if (*value != std::floor(*value)) return wrong(column, "a whole number");
    return static_cast<int>(*value);
  }

  Result<bool> flag(std::string_view column) const {
    return word<bool>(
        column, {{"true", true}, {"false", false}, {"1", true}, {"0", false}, {"yes", true}, {"no", false}}, false);
  }

  // The first word of each value is the documented one.
  template <class T>
  Result<T> word(std::string_view column, const Words<T>& words, T otherwise) const {
    std::string found = loose(text(column));
    if (found.empty()) return otherwise;
    std::vector<T> told;
    std::string names;
    for (const auto& [name, value] : words) {
      if (loose(name) == found) return value;
      if (std::ranges::find(told, value) != told.end()) continue;
      told.push_back(value);
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return wrong(column, names);
  }

  std::unexpected<Error> wrong(std::string_view column, std::string_view expected) const {
    return fail(ErrorCode::invalid, fmt::format("{}:{}: {}: expected {}, found {}", table_.file, table_.lines[row_],
                                                column, expected, quote(text(column))));
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

Result<Settings> read_settings(const Row& row) {
  static const Words<Mode> modes{{"inference", Mode::inference}, {"training", Mode::training},
                                 {"infer", Mode::inference},     {"train", Mode::training},
                                 {"eval", Mode::inference},      {"forward", Mode::inference},
                                 {"serving", Mode::inference},   {"finetuning", Mode::training}};
  static const Words<Framework> frameworks{{"eager_overlapped", Framework::eager_overlapped},
                                           {"eager_serial", Framework::eager_serial},
                                           {"graph", Framework::graph},
                                           {"eager", Framework::eager_overlapped},
                                           {"pytorch", Framework::eager_overlapped},
                                           {"torch", Framework::eager_overlapped},
                                           {"tensorrt", Framework::graph},
                                           {"trt", Framework::graph},
                                           {"cuda_graph", Framework::graph},
                                           {"cuda_graphs", Framework::graph}};
  static const Words<Optimizer> optimizers{{"sgd", Optimizer::sgd},
                                           {"sgd_momentum", Optimizer::sgd_momentum},
                                           {"adam", Optimizer::adam},
                                           {"momentum", Optimizer::sgd_momentum},
                                           {"adamw", Optimizer::adam}};
  Settings s;
  s.mode = TRY(row.word("mode", modes, Mode::inference));
  s.batch = TRY(row.count("batch", 1));
  auto sequence = TRY(row.number("sequence", 0, 1e7));
  if (sequence && *sequence >= 1) s.sequence = static_cast<int>(*sequence);
  Precision both = TRY(row.word("precision", precisions(), Precision::tf32));
  s.matmul = TRY(row.word("matmul", precisions(), both));
  s.convolution = TRY(row.word("convolution", precisions(), both));
  s.framework = TRY(row.word("framework", frameworks, Framework::eager_overlapped));
  s.optimizer = TRY(row.word("optimizer", optimizers, Optimizer::adam));
  s.copy_inside_step = TRY(row.flag("copy_inside_step"));
  s.processes = TRY(row.count("processes", 1));
  return s;
}

enum class Ran { yes, no, out_of_memory };

Result<Ran> read_ran(const Row& row) {
  static const Words<Ran> words{{"memory", Ran::out_of_memory},
                                {"other", Ran::no},
                                {"0", Ran::yes},
                                {"oom", Ran::out_of_memory},
                                {"out_of_memory", Ran::out_of_memory},
                                {"cuda_out_of_memory", Ran::out_of_memory},
                                {"1", Ran::no},
                                {"true", Ran::no},
                                {"yes", Ran::no},
                                {"failed", Ran::no},
                                {"error", Ran::no},
                                {"timeout", Ran::no},
                                {"false", Ran::yes},
                                {"no", Ran::yes},
                                {"ok", Ran::yes},
                                {"success", Ran::yes},
                                {"done", Ran::yes}};
  for (std::string_view column : {"latency_ms", "throughput"}) {
    std::string found = loose(row.text(column));
    if (found == "oom" || found == "outofmemory") return Ran::out_of_memory;
  }
  return row.word("not_run", words, Ran::yes);
}

// 0 is how some write "not measured".
Result<std::optional<double>> positive(const Row& row, std::string_view column, double low, double high) {
  auto value = TRY(row.number(column, 0, high));
  if (value && *value > 0 && *value < low) return row.wrong(column, fmt::format("0 or {} to {}", low, high));
  return value && *value > 0 ? value : std::nullopt;
}

// Time and memory of a row that ran.
Result<void> read_figures(const Row& row, Measurement& m) {
  int devices = TRY(row.count("devices", 1));
  m.step_ms = TRY(positive(row, "latency_ms", 1e-6, 1e9));
  m.throughput = TRY(positive(row, "throughput", 1e-9, 1e15));
  m.memory_mib = TRY(positive(row, "memory_mib", 1e-6, 1e9));
  double samples = static_cast<double>(m.settings.batch) * m.settings.processes;
  if (m.throughput) *m.throughput /= devices;
  // Percentiles and rounded times differ from means by less.
  constexpr double kMostApart = 1.5;
  if (m.throughput && m.step_ms) {
    const double apart = *m.throughput * *m.step_ms / (samples * 1e3);
    m.contradictory = !(apart < kMostApart && apart > 1 / kMostApart);
  }
  if (!m.throughput && m.step_ms) m.throughput = samples * 1e3 / *m.step_ms;
  if (!m.step_ms && m.throughput) m.step_ms = samples * 1e3 / *m.throughput;
  if (!m.throughput && !m.memory_mib && m.left_out.empty()) m.left_out = "nothing measured";
  return {};
}

Result<Measurement> read_row(const Row& row) {
  Measurement m;
  m.board = row.text("board");
  m.profile = row.text("profile");
  m.workload = row.text("workload");
  m.settings = TRY(read_settings(row));
  m.neighbours = TRY(row.number("neighbours", 0, 1)).value_or(0);
  m.virtualised = TRY(row.flag("virtualised"));
  m.other_batch_ratio = TRY(row.flag("other_batch_ratio"));
  m.host = row.text("host");
  m.run = row.text("run");
  m.left_out = row.text("leave_out");
  Ran ran = TRY(read_ran(row));
  m.out_of_memory = ran == Ran::out_of_memory;
  if (ran == Ran::yes) TRY_VOID(read_figures(row, m));
  if (ran == Ran::no && m.left_out.empty()) m.left_out = "not run";
  if (row.text("batch").empty()) m.left_out = "no batch given";
  return m;
}

void fill_in(CsvTable& table, const Defaults& defaults) {
  for (const auto& [column, value] : defaults) {
    auto index = table.column(column);
    if (!index) {
      table.columns.push_back(column);
      for (auto& row : table.rows) row.push_back(value);
      continue;
    }
    for (auto& row : table.rows) {
      if (row[*index].empty()) row[*index] = value;
    }
  }
}

void say_contradictory(DataSet& set) {
  const auto contradictory = [](const Measurement& m) { return m.contradictory && m.left_out.empty(); };
  const auto first = std::ranges::find_if(set.rows, contradictory);
  if (first == set.rows.end()) return;
  const auto rows = static_cast<std::size_t>(std::ranges::count_if(set.rows, contradictory));
  set.assumed.push_back(fmt::format("{}: throughput is not batch over latency (line {}): the throughput counts",
                                    count_of(rows, "row"), first->line));
}

// Columns that must be there, and those that may be missing and are said.
Result<void> complete(CsvTable& table, const std::vector<std::string>& unused, DataSet& set) {
  std::vector<std::string> details;
  if (!unused.empty()) details.push_back("columns not used: " + join(unused, ", "));
  if (table.columns.size() + unused.size() == 1) details.emplace_back("are the cells separated by commas?");
  for (std::string_view column : {"board", "workload"}) {
    if (table.column(column)) continue;
    details.push_back(fmt::format("--set {}=... gives one for all rows; --mapping FILE renames columns", column));
    return fail(ErrorCode::invalid, fmt::format("{}: no column tells the {}", table.file, column), details);
  }
  if (!table.column("latency_ms") && !table.column("throughput") && !table.column("memory_mib")) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: no column tells a time or memory: expected latency_ms, throughput or memory_mib, "
                            "beside {}",
                            table.file, join(table.columns, ", ")),
                details);
  }
  if (!table.column("profile")) {
    set.assumed.emplace_back("no column tells the profile: the whole GPU");
    fill_in(table, {{"profile", "whole"}});
  }
  if (!table.column("batch")) {
    set.assumed.emplace_back("no column tells the batch: 1");
    fill_in(table, {{"batch", "1"}});
  }
  return {};
}

}  // namespace

Result<std::pair<std::string, std::string>> read_default(std::string_view text) {
  const auto equals = text.find('=');
  auto known = known_column(trim(text.substr(0, equals)));
  if (equals == std::string_view::npos || !known || known->scale != 1) {
    return fail(ErrorCode::invalid,
                fmt::format("expected COLUMN=VALUE, as in board=a100-sxm4-80gb, found {}{}", quote(text),
                            equals == std::string_view::npos ? "" : nearest_column(text.substr(0, equals))));
  }
  return std::pair{std::string(known->name), std::string(trim(text.substr(equals + 1)))};
}

Result<DataSet> read_measurements(const CsvTable& given, const std::string& name, const Defaults& defaults) {
  DataSet set;
  set.name = name;
  set.title = name;
  CsvTable table = documented_columns(given, set.unused_columns);
  fill_in(table, defaults);
  TRY_VOID(complete(table, set.unused_columns, set));
  if (table.rows.empty()) return fail(ErrorCode::invalid, table.file + ": it has a header, but no rows");
  for (const std::string& line : table.description) set.source += (set.source.empty() ? "" : " ") + line;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Measurement m = TRY(read_row(Row(table, i)));
    m.set = name;
    m.line = table.lines[i];
    set.rows.push_back(std::move(m));
  }
  say_contradictory(set);
  return set;
}

Result<std::vector<DataSet>> shipped_datasets() {
  constexpr std::string_view kPath = "predict/datasets.yaml";
  auto text = catalog::embedded_file(kPath);
  if (!text) return fail(ErrorCode::internal, "this program was built without predict/datasets.yaml");
  std::vector<Mapping> mappings = TRY(read_mappings(*text, std::string(kPath)));
  std::vector<DataSet> sets;
  for (const Mapping& mapping : mappings) {
    auto file = catalog::embedded_file(mapping.file);
    if (!file) return fail(ErrorCode::internal, fmt::format("this program was built without {}", mapping.file));
    CsvTable table = TRY(parse_csv(*file, mapping.file));
    CsvTable mapped = TRY(apply_mapping(mapping, table));
    DataSet set = TRY(read_measurements(mapped, mapping.name));
    set.title = mapping.title;
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace partita::predict
