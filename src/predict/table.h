// Predictions for all of a board in one call, and the choices made from them. <= 5 ms for all profiles at nine batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/model.h"

namespace partita::predict {

struct TableRow {
  Partition partition;
  std::string name;  // "3g.20gb"
  int batch = 1;
  Prediction prediction;
};

struct Table {
  const catalog::Board* board = nullptr;
  std::string unit;            // of a sample: "images"
  std::vector<int> batches;    // ascending
  std::vector<TableRow> rows;  // by partition from small to large, then by batch
};

struct TableQuery {
  std::vector<int> batches{1};
  bool whole_gpu = false;          // also without MIG
  bool compute_instances = false;  // also parts of a GPU instance
  double busy_neighbours = 0;
  bool virtualised = false;
  const Host* host = nullptr;
};

// Profiles that differ only in media engines are told once. A board without MIG gives the whole GPU alone.
Result<Table> predict_table(const Constants& constants, const Workload& workload, const Settings& settings,
                            const catalog::Board& board, const TableQuery& query, const Calibration& calibration = {});

// What a user needs; all that are set must be met at the same batch.
struct Need {
  std::optional<double> throughput;  // samples per second
  std::optional<double> latency_ms;  // of one step
  std::optional<double> share;       // of the largest partition's throughput at the same batch, 0..1
};

struct Choice {
  std::optional<std::size_t> row;     // of the table: the smallest partition that meets the need, at its best batch
  std::vector<std::string> rejected;  // one line for each smaller partition: what it lacks
  std::string larger;                 // why a larger one would not help, or what it would give
  std::vector<std::string> doubts;    // where memory or the 90 % interval reach beyond the need, and what is certain
};

// `invalid` for a need that is not positive or a share above 1. No partition that meets it is an answer.
Result<Choice> smallest_that_meets(const Table& table, const Need& need);

// The batch beyond which a partition gains little: the first of the table with 90 % of its best throughput.
struct Knee {
  std::string name;
  std::optional<int> batch;  // nullopt: no batch fits
  double throughput = 0, best_throughput = 0;
  std::optional<int> largest_batch;  // of the table that fits
};
std::vector<Knee> knees(const Table& table);

std::string_view name(Bound bound);  // "host", "compute", "bandwidth", "copy"
std::string_view name(Fit fit);      // "fits", "uncertain", "does not fit"

}  // namespace partita::predict
