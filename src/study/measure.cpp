#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "study/measured_lines.h"
#include "study/provider.h"
#include "study/stop_signals.h"
#include "study/worker_process.h"

namespace partita::study {
namespace {

constexpr double kGrace_s = 2;  // from SIGTERM to SIGKILL

struct Run {
  Run(const MeasuredTenant& tenant, const MeasureOptions& options) : lines(options.seconds, options.warmup_s) {
    result.name = tenant.name;
  }
  MeasuredResult result;
  MeasuredLines lines;
  std::optional<Held> held;
  WorkerProcess worker;
};
using Runs = std::vector<std::unique_ptr<Run>>;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Waits up to `most_s` for output and takes it; false when nobody can print any more.
bool listen(const Runs& runs, const Stopwatch& since_start, double most_s) {
  std::vector<pollfd> waiting;
  bool may_print = false;
  for (const auto& run : runs)
    for (const LineReader* reader : {&run->worker.output(), &run->worker.errors()}) {
      if (!reader->open()) continue;
      waiting.push_back({reader->fd(), POLLIN, 0});
      may_print = may_print || reader == &run->worker.output();
    }
  if (!may_print) return false;
  poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp(1e3 * most_s, 1.0, 200.0)));
  for (const auto& run : runs) {
    run->worker.read_errors();
    for (const std::string& line : run->worker.output().lines()) run->lines.take(line, since_start.seconds());
  }
  return true;
}

// Until the time is over, nobody prints any more, or a signal came.
void listen_to_all(const Runs& runs, const Stopwatch& since_start, double seconds, StopSignals& stop,
                   Progress& progress) {
  int told = 0;
  for (double now = 0; now < seconds && stop.came().empty(); now = since_start.seconds()) {
    if (!listen(runs, since_start, seconds - now)) return;
    if (const int second = static_cast<int>(since_start.seconds()); second > told) {
      told = second;
      progress.step(std::min(second, static_cast<int>(seconds)), static_cast<int>(std::ceil(seconds)),
                    "measuring, seconds");
    }
  }
}

// All at once, so that nobody works on while neighbours are being ended. Those that closed their output end by
// themselves first, with a status that tells something.
void end_all(const Runs& runs, const Stopwatch& since_start) {
  const auto any_running = [&](bool silent) {
    return std::ranges::any_of(
        runs, [&](const auto& run) { return (!silent || !run->worker.output().open()) && run->worker.running(); });
  };
  const auto wait = [&](bool silent) {
    for (const Stopwatch waited; any_running(silent) && waited.seconds() < kGrace_s;)
      if (!listen(runs, since_start, 0.01)) poll(nullptr, 0, 10);
  };
  wait(true);
  for (const auto& run : runs) run->worker.terminate();
  wait(false);
  listen(runs, since_start, 0);
  for (const auto& run : runs) run->worker.end();
}

// Partitions first, so that all commands start at the same time.
void acquire_all(const std::vector<MeasuredTenant>& tenants, const MeasureOptions& options, StopSignals& stop,
                 Runs& runs) {
  for (const MeasuredTenant& tenant : tenants) {
    runs.push_back(std::make_unique<Run>(tenant, options));
    Run& run = *runs.back();
    if (!stop.came().empty()) continue;
    auto held = options.provider->acquire(tenant.wanted);
    if (!held) {
      run.result.problem = held.error().message;
      continue;
    }
    run.result.partition = held->name;
    run.held = std::move(*held);
  }
}

Result<void> start_all(const std::vector<MeasuredTenant>& tenants, const MeasureOptions& options, const Runs& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& held = runs[i]->held;
    if (!held) continue;
    auto environment = tenants[i].environment;
    environment.insert(environment.end(), held->environment.begin(), held->environment.end());
    environment.emplace_back("PARTITA_SECONDS", fmt::format("{:g}", options.seconds));
    TRY_VOID(runs[i]->worker.start(options.command, environment));
  }
  return {};
}

void give_back(PartitionProvider& provider, Run& run, Progress& progress) {
  if (!run.held) return;
  const auto released = provider.release(*run.held);
  if (released) return;
  progress.note(released.error().message);
  if (!run.result.problem) run.result.problem = released.error().message;
}

}  // namespace

Result<Held> PlainProcesses::acquire(const PartitionRequest& request) {
  return Held{fmt::format("process of {}", request.tenant), {}, {}};
}

Result<std::vector<MeasuredResult>> measure(const std::vector<MeasuredTenant>& tenants, const MeasureOptions& options,
                                            Progress& progress) {
  if (!options.provider || options.command.empty())
    return fail(ErrorCode::invalid, "measure: expected a command to run for each tenant, found none");
  if (!(options.seconds > options.warmup_s && options.warmup_s >= 0))
    return fail(ErrorCode::invalid, fmt::format("measure: expected more seconds than the warm-up of {}, found {}",
                                                options.warmup_s, options.seconds));
  StopSignals stop;  // from here on something may have to be given back
  Runs runs;
  acquire_all(tenants, options, stop, runs);
  const Stopwatch since_start;
  const auto started = stop.came().empty() ? start_all(tenants, options, runs) : Result<void>{};
  if (started) listen_to_all(runs, since_start, options.seconds, stop, progress);
  const double watched_s = since_start.seconds();
  end_all(runs, since_start);
  std::vector<MeasuredResult> out;
  for (const auto& run : runs) {
    const bool ended_here = run->worker.ended_here();
    if (const auto trouble = run->worker.trouble(); !run->result.problem) run->result.problem = trouble;
    run->lines.finish(run->result, ended_here ? std::optional(watched_s) : std::nullopt);
    give_back(*options.provider, *run, progress);
    out.push_back(std::move(run->result));
  }
  if (!started) return std::unexpected(started.error());
  if (const auto signal = stop.came(); !signal.empty()) {
    const auto error = fail(ErrorCode::unavailable, fmt::format("interrupted by {}", signal));
    progress.note(fmt::format("interrupted by {}: commands are ended, partitions given back", signal));
    return error;
  }
  return out;
}

}  // namespace partita::study
