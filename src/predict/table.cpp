#include "predict/table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace partita::predict {
namespace {

std::vector<Partition> partitions_of(const catalog::Board& board, const TableQuery& query) {
  std::vector<Partition> out;
  std::set<std::tuple<int, int, int>> told;
  auto add = [&](std::optional<int> profile, std::optional<int> compute) {
    Partition p;
    p.board = &board;
    p.profile = profile;
    p.compute = compute;
    p.busy_neighbours = query.busy_neighbours;
    p.virtualised = query.virtualised;
    p.host = query.host;
    out.push_back(p);
  };
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    const catalog::Profile& profile = board.profiles[i];
    int index = static_cast<int>(i);
    if (!told.emplace(profile.compute_slices, profile.memory_slices, profile.sm.value_or(0)).second) continue;
    add(index, std::nullopt);
    for (std::size_t c = 0; query.compute_instances && c < profile.compute.size(); ++c) {
      if (profile.compute[c].compute_slices < profile.compute_slices) add(index, static_cast<int>(c));
    }
  }
  if (query.whole_gpu || out.empty()) add(std::nullopt, std::nullopt);
  return out;
}

// Rows of one partition stand together: [first, last).
std::vector<std::pair<std::size_t, std::size_t>> by_partition(const Table& table) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::size_t n = table.batches.size();
  for (std::size_t i = 0; n > 0 && i + n <= table.rows.size(); i += n) out.emplace_back(i, i + n);
  return out;
}

const TableRow& largest_at(const Table& table, std::size_t row) {
  std::size_t n = table.batches.size();
  return table.rows[table.rows.size() - n + row % n];
}

// What a row lacks; "" when it meets the need.
std::string lacks(const Table& table, std::size_t row, const Need& need) {
  const Prediction& p = table.rows[row].prediction;
  if (p.fit == Fit::does_not_fit) {
    return fmt::format("does not fit: {:.1f} of {:.1f} GiB at batch {}", p.memory_mib.median / 1024,
                       p.capacity_mib / 1024, table.rows[row].batch);
  }
  if (need.throughput && p.throughput.median < *need.throughput) {
    return fmt::format("{:.4g} {}/s of {:.4g}", p.throughput.median, table.unit, *need.throughput);
  }
  if (need.latency_ms && p.step_ms.median > *need.latency_ms) {
    return fmt::format("{:.4g} ms for a step, more than {:.4g} ms", p.step_ms.median, *need.latency_ms);
  }
  if (need.share) {
    double whole = largest_at(table, row).prediction.throughput.median;
    if (p.throughput.median < *need.share * whole) {
      return fmt::format("{:.0f} % of {}, less than {:.0f} %", 100 * p.throughput.median / whole,
                         largest_at(table, row).name, 100 * *need.share);
    }
  }
  return {};
}

// Why the step would not shrink, in a few words.
std::string_view limit_of(Bound bound) {
  switch (bound) {
    case Bound::host:
      return "the host's launches bound the step, and a larger partition does not speed them up";
    case Bound::copy:
      return "the copy of the input bounds the step, and a larger partition does not speed it up";
    case Bound::compute:
      return "multiprocessors bound the step";
    case Bound::bandwidth:
      return "memory bandwidth bounds the step";
  }
  return "";
}

double gain_of(const Table& table, std::size_t chosen, std::size_t other) {
  return table.rows[other].prediction.throughput.median / table.rows[chosen].prediction.throughput.median;
}

std::string compare_larger(const Table& table, std::size_t chosen) {
  const std::size_t n = table.batches.size();
  const TableRow& here = table.rows[chosen];
  std::optional<std::size_t> little;
  for (std::size_t next = chosen + n; next < table.rows.size(); next += n) {
    const double gain = gain_of(table, chosen, next);
    if (gain >= 1.1) {
      return fmt::format("the need is met; {} would give {:.2g} times as much at batch {} ({})", table.rows[next].name,
                         gain, here.batch, limit_of(here.prediction.bound));
    }
    if (!little && (gain >= 1.02 || next + n >= table.rows.size())) little = next;
  }
  if (!little) return fmt::format("{} is the largest partition of {}", here.name, table.board->id);
  const TableRow& other = table.rows[*little];
  // What keeps the larger one from being faster, where this one is at its own limits.
  const bool outside = other.prediction.bound == Bound::host || other.prediction.bound == Bound::copy;
  return fmt::format("a larger partition would not help: {} gives {:+.0f} % at batch {}; {}", other.name,
                     100 * (gain_of(table, chosen, *little) - 1), here.batch,
                     limit_of(outside ? other.prediction.bound : here.prediction.bound));
}

// What of a row that meets the need is not certain.
std::vector<std::string> uncertain(const Table& table, std::size_t row, const Need& need) {
  const Prediction& p = table.rows[row].prediction;
  std::vector<std::string> out;
  if (p.fit == Fit::uncertain) {
    out.push_back(fmt::format("not certain: its memory, {:.1f} of {:.1f} GiB", p.memory_mib.median / 1024,
                              p.capacity_mib / 1024));
  }
  if (need.throughput && p.throughput.low < *need.throughput) {
    out.push_back(fmt::format("not certain: its 90 % interval begins at {:.4g} {}/s", p.throughput.low, table.unit));
  }
  if (need.latency_ms && p.step_ms.high > *need.latency_ms) {
    out.push_back(fmt::format("not certain: its 90 % interval ends at {:.4g} ms", p.step_ms.high));
  }
  return out;
}

std::vector<std::string> doubts_of(const Table& table, std::size_t chosen, const Need& need) {
  std::vector<std::string> out = uncertain(table, chosen, need);
  if (out.empty()) return out;
  const std::size_t n = table.batches.size();
  for (std::size_t i = chosen - chosen % n; i < table.rows.size(); ++i) {
    if (!lacks(table, i, need).empty() || !uncertain(table, i, need).empty()) continue;
    out.push_back(fmt::format("to be certain: {}{}", table.rows[i].name,
                              n > 1 ? fmt::format(" at batch {}", table.rows[i].batch) : ""));
    return out;
  }
  out.emplace_back("no profile meets the need for certain");
  return out;
}

Result<void> check(const Need& need) {
  auto positive = [](std::string_view what, const std::optional<double>& value) -> Result<void> {
    if (!value || (*value > 0 && std::isfinite(*value))) return {};
    return fail(ErrorCode::invalid, fmt::format("{}: expected a number above 0, found {}", what, *value));
  };
  TRY_VOID(positive("throughput", need.throughput));
  TRY_VOID(positive("latency", need.latency_ms));
  TRY_VOID(positive("share", need.share));
  if (need.share && *need.share > 1) {
    return fail(ErrorCode::invalid, fmt::format("share: expected 0 to 1, found {}", *need.share));
  }
  return {};
}

}  // namespace

Result<Table> predict_table(const Constants& constants, const Workload& workload, const Settings& settings,
                            const catalog::Board& board, const TableQuery& query, const Calibration& calibration) {
  if (query.batches.empty()) return fail(ErrorCode::invalid, "a table needs at least one batch");
  Predictor predictor = TRY(Predictor::make(constants, workload, settings, board, query.host));
  Table table;
  table.board = &board;
  table.unit = workload.unit;
  table.batches = query.batches;
  std::ranges::sort(table.batches);
  auto repeated = std::ranges::unique(table.batches);
  table.batches.erase(repeated.begin(), repeated.end());

  std::vector<std::pair<std::pair<double, double>, Partition>> sized;
  for (const Partition& partition : partitions_of(board, query)) {
    Device device = TRY(device_of(constants, partition));
    sized.push_back({{device.multiprocessors, device.bandwidth}, partition});
  }
  std::ranges::stable_sort(sized, {}, [](const auto& entry) { return entry.first; });
  for (const auto& entry : sized) {
    for (int batch : table.batches) {
      Prediction prediction = TRY(predictor.predict(entry.second, batch, calibration));
      table.rows.push_back({entry.second, partition_name(entry.second), batch, std::move(prediction)});
    }
  }
  return table;
}

Result<Choice> smallest_that_meets(const Table& table, const Need& need) {
  TRY_VOID(check(need));
  Choice choice;
  for (auto [first, last] : by_partition(table)) {
    std::optional<std::size_t> best;
    std::string missing;
    for (std::size_t i = first; i < last; ++i) {
      std::string lack = lacks(table, i, need);
      if (!lack.empty()) {
        if (missing.empty() || table.rows[i].prediction.fit != Fit::does_not_fit) missing = lack;
      } else if (!best || table.rows[i].prediction.throughput.median > table.rows[*best].prediction.throughput.median) {
        best = i;
      }
    }
    if (best) {
      choice.row = best;
      choice.larger = compare_larger(table, *best);
      choice.doubts = doubts_of(table, *best, need);
      return choice;
    }
    choice.rejected.push_back(table.rows[first].name + ": " + missing);
  }
  return choice;
}

std::vector<Knee> knees(const Table& table) {
  std::vector<Knee> out;
  for (auto [first, last] : by_partition(table)) {
    Knee knee;
    knee.name = table.rows[first].name;
    auto throughput = [&](std::size_t i) { return table.rows[i].prediction.throughput.median; };
    for (std::size_t i = first; i < last; ++i) {
      if (table.rows[i].prediction.fit == Fit::does_not_fit) continue;
      knee.best_throughput = std::max(knee.best_throughput, throughput(i));
      knee.largest_batch = table.rows[i].batch;
    }
    for (std::size_t i = first; i < last && !knee.batch && knee.largest_batch; ++i) {
      if (table.rows[i].batch > *knee.largest_batch || throughput(i) < 0.9 * knee.best_throughput) continue;
      knee.batch = table.rows[i].batch;
      knee.throughput = throughput(i);
    }
    out.push_back(std::move(knee));
  }
  return out;
}

std::string_view name(Bound bound) {
  constexpr std::array<std::string_view, 4> names{"host", "compute", "bandwidth", "copy"};
  return names[static_cast<std::size_t>(bound)];
}

std::string_view name(Fit fit) {
  constexpr std::array<std::string_view, 3> names{"fits", "uncertain", "does not fit"};
  return names[static_cast<std::size_t>(fit)];
}

}  // namespace partita::predict
