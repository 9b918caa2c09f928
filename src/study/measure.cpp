#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "study/provider.h"

extern char** environ;

namespace partita::study {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostLatencies = 10'000'000;

// A running command: its process group and the end of its output pipe that we read.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { stop(); }

  Result<void> start(const std::vector<std::string>& command,
                     const std::vector<std::pair<std::string, std::string>>& extra) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::unavailable, fmt::format("pipe: {}", std::strerror(errno)));
    output_ = ends[0];
    fcntl(output_, F_SETFL, O_NONBLOCK);
    std::vector<std::string> variables;
    for (char** at = environ; *at; ++at) variables.emplace_back(*at);
    for (const auto& [key, value] : extra) {
      std::erase_if(variables, [&](const std::string& v) { return v.starts_with(key + "="); });
      variables.push_back(key + "=" + value);
    }
    std::vector<std::string> words = command;
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> out;
      for (std::string& text : texts) out.push_back(text.data());
      out.push_back(nullptr);
      return out;
    };
    auto arguments = pointers(words), environment = pointers(variables);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int error = posix_spawnp(&pid_, arguments[0], &actions, &attributes, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (error != 0) {
      pid_ = -1;
      return fail(ErrorCode::invalid,
                  fmt::format("worker {}: cannot be started: {}", command[0], std::strerror(error)));
    }
    return {};
  }

  int output() const { return output_; }
  bool open() const { return output_ >= 0; }

  // Complete lines that came since.
  std::vector<std::string> lines() {
    char bytes[65536];
    for (;;) {
      const ssize_t n = read(output_, bytes, sizeof bytes);
      if (n > 0) {
        pending_.append(bytes, static_cast<std::size_t>(n));
        if (pending_.size() > (4u << 20)) break;
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) {
        close(output_);
        output_ = -1;
        done_ = true;
      }
      break;
    }
    std::vector<std::string> out;
    for (std::size_t end = 0; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1))
      out.push_back(pending_.substr(0, end));
    return out;
  }

  // Ends the process group. The exit status where it ended by itself.
  std::optional<int> stop() {
    std::optional<int> own;
    if (output_ >= 0) close(output_);
    output_ = -1;
    if (pid_ <= 0) return own;
    int status = 0;
    pid_t ended = waitpid(pid_, &status, WNOHANG);
    for (int tries = 0; done_ && tries < 100 && ended != pid_; ++tries) {
      poll(nullptr, 0, 10);
      ended = waitpid(pid_, &status, WNOHANG);
    }
    if (ended == pid_) {
      own = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else {
      kill(-pid_, SIGTERM);
      for (int tries = 0; tries < 100 && ended != pid_; ++tries) {
        poll(nullptr, 0, 10);
        ended = waitpid(pid_, &status, WNOHANG);
      }
    }
    kill(-pid_, SIGKILL);
    if (ended != pid_) waitpid(pid_, &status, 0);
    pid_ = -1;
    return own;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string pending_;
  bool done_ = false;  // it closed its output: it is about to end
};

struct Run {
  MeasuredResult result;
  std::optional<Held> held;
  Worker worker;
  std::vector<double> latencies;
  double first_t = -1, last_t = 0;
};

void take(Run& run, const std::string& text, double warmup_s) {
  const auto line = read_worker_line(text);
  if (!line) {
    if (!run.result.problem) run.result.problem = line.error().message;
    return;
  }
  ++run.result.lines;
  if (const auto& error = line->error) {
    run.result.problem = *error;
    return;
  }
  // An interval counts from the line before it on.
  const bool counts = run.last_t >= warmup_s;
  if (counts && run.first_t < 0) run.first_t = run.last_t;
  run.last_t = std::max(run.last_t, line->t_s);
  if (!counts) return;
  run.result.samples += line->samples;
  if (run.latencies.size() < kMostLatencies)
    run.latencies.insert(run.latencies.end(), line->latency_ms.begin(), line->latency_ms.end());
}

void listen(std::vector<std::unique_ptr<Run>>& runs, const MeasureOptions& options, Progress& progress) {
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  int told = 0;
  for (double now = 0; now < options.seconds; now = elapsed()) {
    std::vector<pollfd> waiting;
    for (const auto& run : runs)
      if (run->worker.open()) waiting.push_back({run->worker.output(), POLLIN, 0});
    if (waiting.empty()) return;
    poll(waiting.data(), waiting.size(), static_cast<int>(std::clamp(1e3 * (options.seconds - now), 1.0, 200.0)));
    for (const auto& run : runs) {
      if (!run->worker.open()) continue;
      for (const std::string& line : run->worker.lines()) take(*run, line, options.warmup_s);
    }
    if (const int second = static_cast<int>(elapsed()); second > told) {
      told = second;
      progress.step(std::min(second, static_cast<int>(options.seconds)), static_cast<int>(std::ceil(options.seconds)),
                    "measuring, seconds");
    }
  }
}

std::optional<double> quantile(std::vector<double>& values, double q) {
  if (values.empty()) return std::nullopt;
  const auto at = static_cast<std::ptrdiff_t>(
      std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size()))));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void finish(Run& run) {
  const auto status = run.worker.stop();
  MeasuredResult& r = run.result;
  if (run.first_t >= 0) r.seconds = run.last_t - run.first_t;
  r.p50_ms = quantile(run.latencies, 0.50);
  r.p99_ms = quantile(run.latencies, 0.99);
  if (r.problem) return;
  if (status && *status != 0)
    r.problem = fmt::format("ended with status {}", *status);
  else if (r.lines == 0)
    r.problem = "printed no line";
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
  std::vector<std::unique_ptr<Run>> runs;
  Result<void> started;
  for (const MeasuredTenant& tenant : tenants) {
    auto run = std::make_unique<Run>();
    run->result.name = tenant.name;
    auto held = options.provider->acquire(tenant.wanted);
    if (!held) {
      run->result.problem = held.error().message;
    } else {
      run->result.partition = held->name;
      auto environment = tenant.environment;
      environment.insert(environment.end(), held->environment.begin(), held->environment.end());
      environment.emplace_back("PARTITA_SECONDS", fmt::format("{:g}", options.seconds));
      run->held = std::move(*held);
      started = run->worker.start(options.command, environment);
    }
    runs.push_back(std::move(run));
    if (!started) break;
  }
  if (started) listen(runs, options, progress);
  std::vector<MeasuredResult> out;
  for (const auto& run : runs) {
    if (const auto& held = run->held) {
      finish(*run);
      options.provider->release(*held);
    }
    out.push_back(std::move(run->result));
  }
  if (!started) return std::unexpected(started.error());
  return out;
}

}  // namespace partita::study
