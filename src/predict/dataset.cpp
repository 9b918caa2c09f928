#include "predict/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "catalog/embedded.h"

namespace partita::predict {
namespace {

constexpr std::array<std::string_view, 24> kColumns{
    "board",     "profile",          "workload",          "mode",       "batch",
    "sequence",  "latency_ms",       "throughput",        "memory_mib", "not_run",
    "matmul",    "convolution",      "framework",         "optimizer",  "processes",
    "devices",   "neighbours",       "virtualised",       "host",       "run",
    "leave_out", "copy_inside_step", "other_batch_ratio", "note"};

template <class T>
using Words = std::vector<std::pair<std::string_view, T>>;

const Words<Precision>& precisions() {
  static const Words<Precision> words{{"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16},
                                      {"bf16", Precision::bf16}, {"int8", Precision::int8}, {"fp8", Precision::fp8}};
  return words;
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
    return word<bool>(column, {{"true", true}, {"false", false}, {"1", true}, {"0", false}}, false);
  }

  template <class T>
  Result<T> word(std::string_view column, const Words<T>& words, T otherwise) const {
    std::string found = text(column);
    if (found.empty()) return otherwise;
    for (const auto& [name, value] : words) {
      if (name == found) return value;
    }
    std::string names;
    for (const auto& entry : words) names += (names.empty() ? "" : ", ") + std::string(entry.first);
    return wrong(column, names);
  }

  std::unexpected<Error> wrong(std::string_view column, std::string_view expected) const {
    return fail(ErrorCode::invalid, fmt::format("{}:{}: {}: expected {}, found '{}'", table_.file, table_.lines[row_],
                                                column, expected, text(column)));
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

Result<Settings> read_settings(const Row& row) {
  Settings s;
  s.mode = TRY(row.word<Mode>("mode", {{"inference", Mode::inference}, {"training", Mode::training}}, Mode::inference));
  s.batch = TRY(row.count("batch", 1));
  auto sequence = TRY(row.number("sequence", 1, 1e7));
  if (sequence) s.sequence = static_cast<int>(*sequence);
  s.matmul = TRY(row.word("matmul", precisions(), Precision::tf32));
  s.convolution = TRY(row.word("convolution", precisions(), Precision::tf32));
  s.framework = TRY(row.word<Framework>("framework",
                                        {{"eager_overlapped", Framework::eager_overlapped},
                                         {"eager_serial", Framework::eager_serial},
                                         {"graph", Framework::graph}},
                                        Framework::eager_overlapped));
  s.optimizer = TRY(row.word<Optimizer>(
      "optimizer", {{"sgd", Optimizer::sgd}, {"sgd_momentum", Optimizer::sgd_momentum}, {"adam", Optimizer::adam}},
      Optimizer::adam));
  s.copy_inside_step = TRY(row.flag("copy_inside_step"));
  s.processes = TRY(row.count("processes", 1));
  return s;
}

Result<Measurement> read_row(const Row& row) {
  Measurement m;
  for (auto [column, to] : {std::pair{"board", &m.board}, {"profile", &m.profile}, {"workload", &m.workload}}) {
    *to = row.text(column);
    if (to->empty()) return row.wrong(column, "a name");
  }
  if (row.text("batch").empty()) return row.wrong("batch", "a whole number");
  m.settings = TRY(read_settings(row));
  m.neighbours = TRY(row.number("neighbours", 0, 1)).value_or(0);
  m.virtualised = TRY(row.flag("virtualised"));
  m.other_batch_ratio = TRY(row.flag("other_batch_ratio"));
  m.host = row.text("host");
  m.run = row.text("run");
  m.left_out = row.text("leave_out");
  std::string not_run = row.text("not_run");
  m.out_of_memory = not_run == "memory";
  if (!not_run.empty() && not_run != "memory" && not_run != "other" && not_run != "0") {
    return row.wrong("not_run", "memory, other or nothing");
  }
  bool ran = not_run.empty() || not_run == "0";
  if (!ran) return m;
  int devices = TRY(row.count("devices", 1));
  auto latency = TRY(row.number("latency_ms", 1e-6, 1e9));
  auto throughput = TRY(row.number("throughput", 1e-9, 1e15));
  m.memory_mib = TRY(row.number("memory_mib", 0, 1e9));
  double samples = static_cast<double>(m.settings.batch) * m.settings.processes;
  if (throughput) m.throughput = *throughput / devices;
  if (latency) m.step_ms = *latency;
  if (!latency && !throughput && !m.memory_mib) return row.wrong("latency_ms", "a latency, throughput or memory");
  if (!m.throughput && m.step_ms) m.throughput = samples * 1e3 / *m.step_ms;
  if (!m.step_ms && m.throughput) m.step_ms = samples * 1e3 / *m.throughput;
  return m;
}

}  // namespace

Result<DataSet> read_measurements(const CsvTable& table, const std::string& name) {
  for (const std::string& column : table.columns) {
    if (std::ranges::find(kColumns, column) == kColumns.end()) {
      return fail(ErrorCode::invalid, fmt::format("{}: no column is called '{}'; known: {}", table.file, column,
                                                  fmt::join(kColumns, ", ")));
    }
  }
  for (std::string_view column : {"board", "profile", "workload", "batch"}) {
    if (auto found = table.require(column); !found) return std::unexpected(found.error());
  }
  DataSet set;
  set.name = name;
  set.title = name;
  for (const std::string& line : table.description) set.source += (set.source.empty() ? "" : " ") + line;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Measurement m = TRY(read_row(Row(table, i)));
    m.set = name;
    m.line = table.lines[i];
    set.rows.push_back(std::move(m));
  }
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
