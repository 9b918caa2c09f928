// Measured data, of any laboratory: CSV in the documented format, or any CSV with a small mapping (data/predict/
// datasets.yaml) that renames its columns and states what they leave out.
//
// The documented format: a header row with these columns, in any order; those marked * are required. Empty = default.
// Other names and units that are common for them are understood too (dataset_columns.h); docs/prediction.md lists them.
//
//   board*        a board id: a100-sxm4-80gb; or its name  profile     3g.40gb, 3g, 1c.3g.40gb; whole (default)
//   workload*     a shipped workload, or unknown names    mode         inference (default), training
//   batch         samples per step, 1                     sequence     tokens
//   latency_ms    of one step   } one of the two          throughput   samples/s of all processes and devices together
//   memory_mib    used on the device                      not_run      memory: it did not fit; other: not measured
//   precision     of both; or apart: matmul, convolution  fp32 tf32 (default) fp16 bf16 int8 fp8
//   framework     eager_overlapped (default), eager_serial, graph
//   optimizer     sgd, sgd_momentum, adam (default)       copy_inside_step   true, false (default)
//   processes     MPS processes, 1                        devices      identical partitions that throughput adds up, 1
//   neighbours    busy share of the rest of the GPU, 0    virtualised  true, false
//   host          a host of constants.yaml                run          ratios are taken within a run
//   leave_out     why the row counts nowhere
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/error.h"
#include "predict/workload.h"

namespace partita::predict {

struct Measurement {
  std::string set;  // data set
  int line = 0;     // in its file
  std::string board, profile, workload;
  Settings settings;
  double neighbours = 0;
  bool virtualised = false;
  std::string host, run;
  std::optional<double> step_ms;     // of one process
  std::optional<double> throughput;  // samples/s of one partition, all its processes
  std::optional<double> memory_mib;
  bool contradictory = false;  // its time and its throughput, both told, are not of one run
  bool out_of_memory = false;
  bool other_batch_ratio = false;  // ratios may compare different batches
  std::string left_out;            // why; "" = counts
};

struct DataSet {
  std::string name, title, source;
  std::vector<Measurement> rows;
  std::vector<std::string> unused_columns;  // that mean nothing here, with the nearest ones that would
  std::vector<std::string> assumed;         // what the file does not say
};

// What fills a documented column where the table has no such column or an empty cell: {"board", "a100-sxm4-80gb"}.
using Defaults = std::vector<std::pair<std::string, std::string>>;
// "board=a100-sxm4-80gb". `invalid` for anything else, and for columns that are not documented.
Result<std::pair<std::string, std::string>> read_default(std::string_view text);

// The documented format. `invalid` names file, line and column. Rows with nothing measured are left out, not wrong.
Result<DataSet> read_measurements(const CsvTable& table, const std::string& name, const Defaults& defaults = {});

// One entry of a mapping file.
struct MappingRule {
  std::vector<std::pair<std::string, std::vector<std::string>>> when;  // source column -> any of these
  std::vector<std::pair<std::string, std::string>> set;                // documented column -> value
  bool drop = false;                                                   // the row is of no use here
};
struct Mapping {
  std::string name, title, file;
  std::vector<std::pair<std::string, std::string>> columns;  // documented column -> source column
  std::vector<MappingRule> rules;                            // applied in order
  bool others = false;  // columns that it does not name are kept, where they mean something
};
Result<std::vector<Mapping>> read_mappings(std::string_view text, const std::string& file);
// A user's own: `columns` and `rules` alone, both optional; other columns are kept.
Result<Mapping> read_own_mapping(std::string_view text, const std::string& file);
// The table in the documented format.
Result<CsvTable> apply_mapping(const Mapping& mapping, const CsvTable& table);

// The data sets in this program, mapped and read: migperf, parvagpu, mlperf.
Result<std::vector<DataSet>> shipped_datasets();

}  // namespace partita::predict
