// Leases through a daemon in this process, on an emulated DGX A100 with MIG on: durable, with permissions and CDI files
// in place at the answer. The ledger is on the disk of TMPDIR; the emulated /dev and /proc, and the CDI files, are in
// memory, as the real ones are.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "lease_world.h"

namespace partita {
namespace {

using Steady = std::chrono::steady_clock;

using bench::at;
using bench::value;

struct World : bench::LeaseWorld {
  std::unique_ptr<node::DaemonNode> daemon = open_daemon();
};

struct Tally {
  std::vector<double> milliseconds;
  int pairs = 0, recuts = 0, waited = 0;
};

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
    request.requirement = World::wanted(random);
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
