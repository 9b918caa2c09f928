// Measured runs: each tenant of a scenario gets a partition from a provider and runs a command there, which prints one
// JSON line per interval:
//
//   {"t": 0, "samples": 0, "device": "CPU, 2 threads"}         where it runs (optional, in any line)
//   {"t": 1.0, "samples": 640, "latency_ms": [24.8, 25.1]}     t: seconds since it began, samples: since the last line
//   {"t": 1.2, "error": "out of memory"}                       a result, too
//
// Any framework can join (docs/studies.md). The command finds in its environment PARTITA_TENANT, PARTITA_WORKLOAD,
// PARTITA_MODE, PARTITA_BATCH, PARTITA_SECONDS and what the provider adds (CUDA_VISIBLE_DEVICES).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/progress.h"

namespace partita::study {

struct PartitionRequest {
  std::string tenant;
  std::string board;    // "a100-sxm4-40gb"
  std::string profile;  // "3g.20gb"; "" = the whole GPU
  std::string sharing;  // "exclusive", "time-slicing", ...
};

struct Held {
  std::string name;                                              // as the report shows it
  std::vector<std::pair<std::string, std::string>> environment;  // for the command
  std::string id;                                                // the provider's own
};

class PartitionProvider {
 public:
  virtual ~PartitionProvider() = default;
  // What the report says about where it ran: "emulated GPUs: not a measurement of a GPU".
  virtual std::string label() const = 0;
  virtual Result<Held> acquire(const PartitionRequest& request) = 0;
  // When the last one is given back, all is as it was before the first was asked for. An error says what is left.
  virtual Result<void> release(const Held& held) = 0;
};

// No partitions at all: every command is a plain process of this machine.
class PlainProcesses final : public PartitionProvider {
 public:
  std::string label() const override { return "plain processes of this machine, without partitions"; }
  Result<Held> acquire(const PartitionRequest& request) override;
  Result<void> release(const Held&) override { return {}; }
};

struct WorkerLine {
  double t_s = 0, samples = 0;
  std::vector<double> latency_ms;
  std::optional<std::string> device, error;
};
// `invalid` for a line that is no such object; other members are left alone.
Result<WorkerLine> read_worker_line(std::string_view line);

struct MeasuredTenant {
  std::string name;
  PartitionRequest wanted;
  std::vector<std::pair<std::string, std::string>> environment;
};

struct MeasuredResult {
  std::string name, partition;
  double seconds = 0, samples = 0;  // as the lines tell
  std::optional<double> p50_ms, p99_ms;
  std::size_t lines = 0;
  std::optional<std::string> device;   // what the worker says it runs on
  std::optional<std::string> problem;  // the worker's own error, a bad line, an early end, silence, no partition
  double samples_per_s() const { return seconds > 0 ? samples / seconds : 0; }
};

struct MeasureOptions {
  PartitionProvider* provider = nullptr;
  std::vector<std::string> command;   // program and arguments
  double seconds = 10, warmup_s = 0;  // lines of the warm-up are left out
};

// Gives every tenant its partition, runs all commands at the same time, ends them (SIGTERM, and SIGKILL two seconds
// later) and gives the partitions back. A tenant's trouble is its result. `invalid` for no command or a program that
// cannot be started; SIGINT, SIGTERM and SIGHUP end the run: `unavailable`, and the process goes on to end by that
// signal once everything is given back.
Result<std::vector<MeasuredResult>> measure(const std::vector<MeasuredTenant>& tenants, const MeasureOptions& options,
                                            Progress& progress);

}  // namespace partita::study
