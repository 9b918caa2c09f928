// Leases through the socket of a daemon that is a process of its own, as `partita serve` is: durable, with permissions
// and CDI files in place at the answer. PARTITA_BENCH_LEASES=1000000 sets how many leases the memory is measured over.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "lease_load.h"
#include "lease_world.h"
#include "serve/server.h"

namespace partita {
namespace {

using bench::at;
using bench::Steady;
using bench::Tally;
using bench::value;
using World = bench::LeaseWorld;

// The daemon in a child process.
class Daemon {
 public:
  explicit Daemon(World& world) : world_(world) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    pid_ = ::fork();
    if (pid_ == 0) ::_exit(serve(signals));
    ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    wait_for_it();
  }
  ~Daemon() {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(pid_, &status, 0);
  }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  double resident_mib() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
    long pages = 0;
    file >> pages >> pages;
    return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }
  // Of all its threads; of those that ended, too, but for the last moment.
  double processor_seconds() const {
    double nanoseconds = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      std::ifstream file(task.path() / "schedstat");
      double ran = 0;
      file >> ran;
      nanoseconds += ran;
    }
    return nanoseconds * 1e-9;
  }

 private:
  int serve(const sigset_t& signals) {
    try {
      const auto node = world_.open_daemon();
      const SystemClock clock;
      serve::Options options;
      options.socket = world_.socket();
      options.tokens = world_.state_folder() / "tokens.db";
      const auto server = value(serve::Server::open(*node, clock, options));
      const std::jthread thread([&](const std::stop_token& stop) { (void)server->run(stop); });
      int signal = 0;
      ::sigwait(&signals, &signal);
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  void wait_for_it() const {
    while (true) {
      try {
        const bench::Wire wire(world_.socket());
        return;
      } catch (const std::runtime_error&) {
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  World& world_;
  pid_t pid_ = 0;
};

void show(benchmark::State& state, Tally& tally, double seconds) {
  const auto percent = [&](std::size_t of) {
    return 100.0 * static_cast<double>(of) / static_cast<double>(std::max<std::size_t>(tally.pairs, 1));
  };
  std::ranges::sort(tally.milliseconds);
  state.counters["pairs_per_s"] = static_cast<double>(tally.pairs) / seconds;
  state.counters["p50_ms"] = at(tally.milliseconds, 0.5);
  state.counters["p99_ms"] = at(tally.milliseconds, 0.99);
  state.counters["recut_percent"] = percent(tally.recuts);
  state.counters["waited_percent"] = percent(tally.waited);
}

// So many clients for ten seconds, and one that reads /v1/gpus a hundred times a second.
void lease_and_release_served(benchmark::State& state) {
  World world;
  const Daemon daemon(world);
  for (auto unused : state) {
    (void)unused;
    std::vector<double> reads;
    std::jthread reader([&](const std::stop_token& stop) {
      bench::Wire wire(world.socket());
      while (!stop.stop_requested()) {
        const auto begin = Steady::now();
        wire.ask("GET", "/v1/gpus", "");
        while (!wire.read()) {
        }
        reads.push_back(bench::milliseconds_since(begin));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
    const double processor = daemon.processor_seconds();
    const auto begin = Steady::now();
    Tally tally = bench::load(world.socket(), static_cast<int>(state.range(0)), World::wanted_small,
                              [&](const Tally&) { return Steady::now() - begin > std::chrono::seconds(10); });
    const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
    reader.request_stop();
    reader.join();
    show(state, tally, seconds);
    std::ranges::sort(reads);
    state.counters["read_p99_ms"] = at(reads, 0.99);
    state.counters["daemon_us_per_pair"] =
        1e6 * (daemon.processor_seconds() - processor) / static_cast<double>(std::max<std::size_t>(tally.pairs, 1));
    state.counters["resident_mib"] = daemon.resident_mib();
  }
}
BENCHMARK(lease_and_release_served)->Arg(1)->Arg(64)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

double folder_mib(const std::filesystem::path& folder) {
  double bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += static_cast<double>(entry.file_size());
  return bytes / (1 << 20);
}

// What is resident, and what lies on the disk, after so many leases of 64 clients.
void memory_served(benchmark::State& state) {
  const char* asked = std::getenv("PARTITA_BENCH_LEASES");
  const std::size_t leases = asked != nullptr ? std::stoul(asked) : 20'000;
  World world;
  const Daemon daemon(world);
  for (auto unused : state) {
    (void)unused;
    std::size_t next = 1000;
    const auto begin = Steady::now();
    Tally tally = bench::load(world.socket(), 64, World::wanted_small, [&](const Tally& now) {
      if (now.pairs >= next) {
        state.counters["mib_" + std::to_string(next)] = daemon.resident_mib();
        state.counters["disk_mib_" + std::to_string(next)] = folder_mib(world.state_folder());
        next *= 10;
      }
      return now.pairs >= leases;
    });
    show(state, tally, std::chrono::duration<double>(Steady::now() - begin).count());
    state.counters["mib_at_end"] = daemon.resident_mib();
    state.counters["disk_mib_at_end"] = folder_mib(world.state_folder());
  }
}
BENCHMARK(memory_served)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

// Nobody asks for anything.
void idle_served(benchmark::State& state) {
  World world;
  const Daemon daemon(world);
  for (auto unused : state) {
    (void)unused;
    const double processor = daemon.processor_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(10));
    state.counters["processor_percent"] = 100 * (daemon.processor_seconds() - processor) / 10;
    state.counters["resident_mib"] = daemon.resident_mib();
  }
}
BENCHMARK(idle_served)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace partita
