// Leases through a daemon in this process, on an emulated DGX A100 with MIG on: durable, with permissions and CDI files
// in place at the answer. The ledger is on the disk of TMPDIR; the emulated /dev and /proc, and the CDI files, are in
// memory, as the real ones are.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "api/node.h"
#include "base/clock.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "emulator/control/control.h"
#include "layout/mig_parted_file.h"
#include "node/node.h"

namespace partita {
namespace {

using Steady = std::chrono::steady_clock;

template <class T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message + "\n" + join(result.error().details, "\n"));
  return *std::move(result);
}

class World {
 public:
  World() : catalog_(value(catalog::Catalog::open())) {
    memory_ = folder("/dev/shm");
    const char* disk = std::getenv("TMPDIR");
    disk_ = folder(disk != nullptr ? disk : "/tmp");
    ::setenv("PARTITA_EMULATED_ROOT", memory_.c_str(), 1);
    const auto node = value(emulator::start(catalog_, "dgx-a100"));
    ::setenv("PARTITA_EMULATED_NODE", node.folder.c_str(), 1);
    node::Options options;
    options.driver = {.library = PARTITA_NVML_LIBRARY, .device_root = node.folder / "root"};
    options.state_dir = disk_ / "state";
    options.name = node.name;
    options.emulated = true;
    options.cdi_folder = memory_ / "cdi";
    options.reset_command = {PARTITA_RESET_PROGRAM, node.name, "{bus-id}"};
    daemon = value(node::open_daemon(catalog_, clock_, options, disk_ / "socket"));
    const auto file =
        value(layout::read_mig_parted("version: v1\nmig-configs:\n  on:\n    - {devices: all, mig-enabled: true, "
                                      "mig-devices: {\"1g.5gb\": 7}}\n",
                                      "bench"));
    SilentProgress silent;
    value(daemon->apply({administrator(), api::LayoutRequest{*value(file.label("on")), "bench"}, {}}, silent));
  }
  ~World() {
    daemon.reset();
    std::filesystem::remove_all(memory_);
    std::filesystem::remove_all(disk_);
  }
  static api::Caller administrator() { return {0, "root", true, false, {}}; }

 private:
  static std::filesystem::path folder(const std::string& parent) {
    std::string name = parent + "/partita-bench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + parent);
    return name;
  }
  catalog::Catalog catalog_;
  SystemClock clock_;
  std::filesystem::path memory_, disk_;

 public:
  std::unique_ptr<node::DaemonNode> daemon;
};

struct Tally {
  std::vector<double> milliseconds;
  int pairs = 0, recuts = 0, waited = 0;
};

// So many kinds that the idle instances seldom have the right one.
api::Requirement wanted(std::mt19937& random) {
  api::Requirement requirement;
  const auto draw = random() % 100;
  requirement.profile = draw < 30   ? "1g.5gb"
                        : draw < 50 ? "1g.10gb"
                        : draw < 70 ? "2g.10gb"
                        : draw < 85 ? "3g.20gb"
                                    : "4g.20gb";
  requirement.bare = random() % 4 == 0;
  return requirement;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// One client: leases and releases, over and over.
void client(api::Node& node, int number, const std::atomic<bool>& stop, Tally& tally) {
  std::mt19937 random(static_cast<unsigned>(number));
  api::LeaseRequest request;
  request.caller = World::administrator();
  request.name = "client-" + std::to_string(number);
  api::LeaseChange change;
  change.caller = request.caller;
  change.name = request.name;
  while (!stop) {
    request.requirement = wanted(random);
    const auto begin = Steady::now();
    api::Lease lease = value(node.lease(request)).at(0);
    const auto leased = Steady::now();
    const bool waited = lease.state == api::LeaseState::waiting;
    while (lease.state == api::LeaseState::waiting) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      lease = value(node.leases({{}, request.name, "", false, 0, 1})).at(0);
    }
    const auto releasing = Steady::now();
    value(node.release(change));
    const auto end = Steady::now();
    if (!waited) tally.milliseconds.push_back(std::chrono::duration<double, std::milli>(leased - begin).count());
    tally.milliseconds.push_back(std::chrono::duration<double, std::milli>(end - releasing).count());
    ++tally.pairs;
    tally.recuts += lease.recut ? 1 : 0;
    tally.waited += waited ? 1 : 0;
  }
}

double at(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
}

void lease_and_release(benchmark::State& state) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  World world;
  for (auto unused : state) {
    (void)unused;
    std::atomic<bool> stop = false;
    std::vector<Tally> tallies(clients);
    std::vector<double> reads;
    const auto begin = Steady::now();
    const double processor = processor_seconds();
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < clients; ++i)
        threads.emplace_back([&, i] { client(*world.daemon, static_cast<int>(i), stop, tallies[i]); });
      while (Steady::now() - begin < std::chrono::seconds(3)) {
        const auto reading = Steady::now();
        benchmark::DoNotOptimize(value(world.daemon->status()));
        reads.push_back(std::chrono::duration<double, std::milli>(Steady::now() - reading).count());
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      stop = true;
    }
    const double seconds = std::chrono::duration<double>(Steady::now() - begin).count();
    Tally all;
    for (const Tally& tally : tallies) {
      all.milliseconds.insert(all.milliseconds.end(), tally.milliseconds.begin(), tally.milliseconds.end());
      all.pairs += tally.pairs;
      all.recuts += tally.recuts;
      all.waited += tally.waited;
    }
    std::ranges::sort(all.milliseconds);
    std::ranges::sort(reads);
    state.counters["pairs_per_s"] = all.pairs / seconds;
    state.counters["processor_us_per_pair"] = 1e6 * (processor_seconds() - processor) / std::max(all.pairs, 1);
    state.counters["recut_percent"] = 100.0 * all.recuts / std::max(all.pairs, 1);
    state.counters["waited_percent"] = 100.0 * all.waited / std::max(all.pairs, 1);
    state.counters["resident_mib"] = resident_mib();
    state.counters["p50_ms"] = at(all.milliseconds, 0.5);
    state.counters["p99_ms"] = at(all.milliseconds, 0.99);
    state.counters["status_p99_ms"] = at(reads, 0.99);
  }
}
// Nothing is asked: what the conductor's own looking costs, and what is resident after a moment's work.
void idle(benchmark::State& state) {
  World world;
  for (auto unused : state) {
    (void)unused;
    const double processor = processor_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(5));
    state.counters["processor_percent"] = 100 * (processor_seconds() - processor) / 5;
    state.counters["resident_mib"] = resident_mib();
  }
}
BENCHMARK(idle)->Iterations(1)->Unit(benchmark::kSecond);

BENCHMARK(lease_and_release)->Arg(1)->Arg(64)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace partita
