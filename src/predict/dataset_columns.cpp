#include "predict/dataset_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::predict {
namespace {

using Names = std::span<const std::string_view>;

struct Column {
  std::string_view name;
  Names others;  // also called
};

constexpr std::string_view kBoard[] = {"gpu",    "gpu_model",   "gpu_name",   "gpu_type",
                                       "device", "device_name", "accelerator"};
constexpr std::string_view kProfile[] = {"mig_profile",  "mig",          "partition", "instance",
                                         "gpu_instance", "mig_instance", "slice",     "slices",
                                         "gpc",          "gpcs",         "gpc_slices"};
constexpr std::string_view kWorkload[] = {"model", "model_name", "network", "benchmark", "net", "architecture"};
constexpr std::string_view kBatch[] = {"batch_size", "batchsize", "bs", "minibatch", "per_device_batch_size"};
constexpr std::string_view kSequence[] = {"seq_len",    "seq",    "seqlen",  "sequence_length",
                                          "seq_length", "tokens", "context", "input_length"};
constexpr std::string_view kMode[] = {"task", "workload_type", "train_or_infer", "kind"};
constexpr std::string_view kPrecision[] = {"dtype", "data_type", "datatype", "numeric"};
constexpr std::string_view kMatmul[] = {"matmul_precision"};
constexpr std::string_view kConvolution[] = {"conv", "convolution_precision", "conv_precision"};
constexpr std::string_view kFramework[] = {"runtime", "backend", "engine"};
constexpr std::string_view kProcesses[] = {"procs", "num_processes", "mps_processes", "nproc", "num_procs"};
constexpr std::string_view kDevices[] = {"partitions", "num_instances", "instances", "num_devices", "num_gpus"};
constexpr std::string_view kNeighbours[] = {"neighbors", "busy_neighbours", "busy_neighbors"};
constexpr std::string_view kVirtualised[] = {"virtualized", "vgpu", "vm"};
constexpr std::string_view kNotRun[] = {"status", "oom", "out_of_memory"};
constexpr std::string_view kCopy[] = {"copy_inside", "h2d_inside", "includes_copy"};
constexpr std::string_view kNote[] = {"notes", "comment", "comments", "remark"};

constexpr std::array<Column, 25> kColumns{{{"board", kBoard},
                                           {"profile", kProfile},
                                           {"workload", kWorkload},
                                           {"batch", kBatch},
                                           {"latency_ms", {}},
                                           {"throughput", {}},
                                           {"memory_mib", {}},
                                           {"mode", kMode},
                                           {"sequence", kSequence},
                                           {"precision", kPrecision},
                                           {"matmul", kMatmul},
                                           {"convolution", kConvolution},
                                           {"framework", kFramework},
                                           {"optimizer", {}},
                                           {"copy_inside_step", kCopy},
                                           {"processes", kProcesses},
                                           {"devices", kDevices},
                                           {"neighbours", kNeighbours},
                                           {"virtualised", kVirtualised},
                                           {"not_run", kNotRun},
                                           {"host", {}},
                                           {"run", {}},
                                           {"other_batch_ratio", {}},
                                           {"leave_out", {}},
                                           {"note", kNote}}};

constexpr std::string_view kLatency[] = {"latency",        "step",
                                         "step_time",      "step_latency",
                                         "batch_time",     "batch_latency",
                                         "time_per_batch", "time_per_step",
                                         "time",           "mean_latency",
                                         "avg_latency",    "latency_mean",
                                         "latency_avg",    "average_latency",
                                         "latency_median", "median_latency",
                                         "inference_time", "mean_inference",
                                         "iteration_time", "iter_time"};
constexpr std::string_view kMemory[] = {"memory",     "mem",         "memory_used", "used_memory",    "gpu_memory",
                                        "gpu_mem",    "fb_used",     "mem_used",    "memory_usage",   "peak_memory",
                                        "max_memory", "memory_peak", "peak_mem",    "gpu_memory_used"};
constexpr std::string_view kThroughput[] = {"throughput",
                                            "throughput_total",
                                            "total_throughput",
                                            "throughput_calc",
                                            "throughput_per_s",
                                            "throughput_s",
                                            "samples_throughput",
                                            "qps",
                                            "ips",
                                            "fps"};
constexpr std::string_view kSamples[] = {"sample",     "samples",   "image",    "images",    "imgs",
                                         "img",        "item",      "items",    "sequences", "seqs",
                                         "inferences", "inference", "requests", "queries"};

struct Unit {
  std::string_view end;
  double scale;
};
constexpr Unit kTimes[] = {{"_ms", 1},     {"_msec", 1},      {"_milliseconds", 1}, {"_s", 1e3},     {"_sec", 1e3},
                           {"_secs", 1e3}, {"_seconds", 1e3}, {"_us", 1e-3},        {"_usec", 1e-3}, {"_ns", 1e-6}};
// Tools of NVIDIA write MB and GB and mean MiB and GiB.
constexpr Unit kSizes[] = {{"_mib", 1},
                           {"_mb", 1},
                           {"_gib", 1024},
                           {"_gb", 1024},
                           {"_bytes", 1.0 / (1 << 20)},
                           {"_kib", 1.0 / 1024},
                           {"_b", 1.0 / (1 << 20)}};
constexpr Unit kRates[] = {{"_s", 1},       {"_sec", 1},        {"_second", 1}, {"_per_s", 1},
                           {"_per_sec", 1}, {"_per_second", 1}, {"_ps", 1},     {"_per_min", 1.0 / 60}};

bool any_of(Names names, std::string_view text) { return std::ranges::find(names, text) != names.end(); }

// "Latency (ms)" -> "latency_ms".
std::string plain(std::string_view header) {
  std::string out;
  for (char c : lower(header)) {
    bool kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (kept) out += c;
    if (!kept && !out.empty() && out.back() != '_') out += '_';
  }
  if (out.ends_with('_')) out.pop_back();
  return out;
}

std::optional<double> unit_of(std::string_view text, Names stems, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (text.ends_with(unit.end) && any_of(stems, text.substr(0, text.size() - unit.end.size()))) return unit.scale;
  }
  return std::nullopt;
}

std::optional<double> rate_of(std::string_view text) {
  if (any_of(kThroughput, text)) return 1.0;
  for (std::string_view before : {"throughput_", "total_"}) {
    if (text.starts_with(before)) text.remove_prefix(before.size());
  }
  return unit_of(text, kSamples, kRates);
}

bool is_placeholder(std::string_view cell) {
  constexpr std::string_view kWords[] = {"n/a", "na", "nan", "none", "null", "-", "--", "?"};
  return any_of(kWords, lower(cell));
}

std::string scaled(const std::string& cell, double scale) {
  double value = 0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (scale == 1 || error != std::errc{} || stop != cell.data() + cell.size()) return cell;
  return fmt::format("{}", value * scale);
}

std::string cell_of(std::string_view found, const KnownColumn& column, bool tells_oom) {
  std::string cell(trim(found));
  if (column.name == "profile") return cell;  // "none" is the whole GPU
  if (is_placeholder(cell)) return {};
  if (tells_oom && any_of(std::array<std::string_view, 3>{"1", "true", "yes"}, lower(cell))) return "memory";
  return scaled(cell, column.scale);
}

}  // namespace

std::optional<KnownColumn> known_column(std::string_view header) {
  const std::string text = plain(header);
  for (const Column& column : kColumns) {
    if (text == column.name || any_of(column.others, text)) return KnownColumn{column.name, 1};
  }
  if (auto scale = unit_of(text, kLatency, kTimes)) return KnownColumn{"latency_ms", *scale};
  if (auto scale = unit_of(text, kMemory, kSizes)) return KnownColumn{"memory_mib", *scale};
  if (auto scale = rate_of(text)) return KnownColumn{"throughput", *scale};
  return std::nullopt;
}

std::string nearest_column(std::string_view header) {
  const std::string text = plain(header);
  if (any_of(kLatency, text)) return "; its unit is not told: latency_ms, latency_s or latency_us";
  if (any_of(kMemory, text)) return "; its unit is not told: memory_mib or memory_gib";
  std::vector<std::string> names;
  for (const Column& column : kColumns) names.emplace_back(column.name);
  return did_you_mean(text, names);
}

CsvTable documented_columns(const CsvTable& table, std::vector<std::string>& unused) {
  CsvTable out;
  out.file = table.file;
  out.description = table.description;
  out.lines = table.lines;
  struct From {
    std::size_t index;
    KnownColumn column;
    bool tells_oom;
  };
  std::vector<From> from;
  auto take = [&](std::size_t i, bool exact) {
    auto known = known_column(table.columns[i]);
    if (!known || (known->name == trim(table.columns[i])) != exact) return;
    if (out.column(known->name)) return;
    std::string text = plain(table.columns[i]);
    from.push_back({i, *known, text == "oom" || text == "out_of_memory"});
    out.columns.emplace_back(known->name);
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) take(i, true);
  for (std::size_t i = 0; i < table.columns.size(); ++i) take(i, false);
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (std::ranges::find(from, i, &From::index) != from.end()) continue;
    unused.push_back(one_line(table.columns[i], 60));
    std::string hint = known_column(table.columns[i]) ? "" : nearest_column(table.columns[i]);
    if (!hint.empty()) unused.back() += " (" + hint.substr(2) + ")";
  }
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const From& one : from) cells.push_back(cell_of(row[one.index], one.column, one.tells_oom));
    out.rows.push_back(std::move(cells));
  }
  return out;
}

}  // namespace partita::predict
