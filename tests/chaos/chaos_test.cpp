// Holders lease at random, and everything fails at random; whatever happened, what was acknowledged holds.
//
// PARTITA_CHAOS_SEED and PARTITA_CHAOS_MINUTES (of simulated time) choose another run. The seed decides what is asked
// and what goes wrong, not how the processes are scheduled.
#include <cstdio>
#include <cstdlib>

#include "checker.h"
#include "deliver/confine.h"
#include "node/paths.h"

namespace partita::chaos {
namespace {

using namespace std::chrono_literals;

constexpr int kConnections = 12;
constexpr Limits kUser{14, 22, 120 * 1024}, kGroup{36, 50, 260 * 1024};
constexpr const char* kPolicy = R"(version: v1
warning: 30s
grace: 20s
everyone: {partitions: 14, compute-slices: 22, memory: 120GiB, longest: 1h, default: 10m}
groups:
  g0: {partitions: 36, compute-slices: 50, memory: 260GiB}
  g1: {partitions: 36, compute-slices: 50, memory: 260GiB}
  g2: {partitions: 36, compute-slices: 50, memory: 260GiB}
  g3: {partitions: 36, compute-slices: 50, memory: 260GiB}
)";
constexpr const char* kNode = R"(gpus:
  - {board: a100-sxm4-40gb, count: 4, mig: enabled}
  - {board: a100-sxm4-40gb, count: 1}
  - {board: h100-sxm5-80gb, count: 3, mig: enabled}
)";

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed)
      : world_(kNode),
        evidence_(world_.emulated.folder),
        holders_(seed, clock_, evidence_),
        disturber_(world_, evidence_, holders_),
        service_(world_, clock_, kConnections),
        checker_(world_, clock_, evidence_, holders_, disturber_, kUser, kGroup) {
    world_.options.policy_file = world_.root.write("policy.yaml", kPolicy);
    const std::string groups = "partita-test-" + std::to_string(::getpid());
    if (deliver::Confinement::open(groups)) world_.options.confinement_prefix = groups;
  }

  void run(std::chrono::minutes simulated) {
    const Time end = clock_.now() + simulated;
    while (clock_.now() < end && violations_.empty()) {
      ++counts_["rounds"];
      if (holders_.chance(70)) stop();
      must_run(random_life());
      for (int i = holders_.draw(120); i > 0 && service_.runs(); --i) act();
      disturb();
      settle();
      if (holders_.chance(40)) disturber_.foreign();
    }
    if (violations_.empty()) finish();
  }
  const std::vector<std::string>& violations() const { return violations_; }
  void report() const;

 private:
  Life random_life() {
    Life life;
    if (holders_.chance(60)) life.dies_at = 1 + holders_.draw(holders_.chance(50) ? 60 : 600);
    life.power_cut = holders_.chance(20);
    return life;
  }
  // A daemon that is there; one that died of what it was given is started anew, in peace.
  void must_run(Life life) {
    for (int tries = 0; !service_.runs(); ++tries) {
      if (service_.start(tries < 3 ? life : Life{})) {
        ++counts_["lives"];
        return;
      }
      const std::string words = service_.last_words();
      after_death();
      if (tries < 3 && (life.dies_at > 0 || faults_)) continue;
      disturber_.clear_faults();
      faults_ = false;
      if (tries < 6 && words.find("fault") == std::string::npos && tries < 4) continue;
      violations_.push_back("the daemon does not start: " + words);
      return;
    }
  }
  // It comes to its end by itself, or as its life was to end.
  void stop() {
    if (!service_.runs()) return;
    ++counts_["stops"];
    const Service::End end = service_.stop();
    if (end == Service::End::fault)
      violations_.push_back("the daemon did not stop by itself: " + service_.how_it_ended());
    if (end == Service::End::as_told) after_death();
  }
  void act();
  void disturb();
  void settle();
  void drain(std::chrono::milliseconds patience);
  void tell();
  void finish();
  void take_answers(std::chrono::milliseconds within) {
    while (auto answer = service_.receive(within)) holders_.answered(answer->first, std::move(answer->second));
    if (!service_.runs()) after_death();
  }
  void after_death() {
    ++counts_["deaths"];
    holders_.unanswered();
    if (service_.life().power_cut) {
      ++counts_["power cuts"];
      disturber_.reboot(true);
    }
  }
  void add(const Checker::Words& words) {
    for (const std::string& word : words)
      violations_.push_back("round " + std::to_string(counts_["rounds"]) + ": " + word);
  }
  std::optional<std::vector<api::Lease>> all_leases();
  static std::vector<api::Lease> live(const std::vector<api::Lease>& all) {
    std::vector<api::Lease> some;
    for (const api::Lease& lease : all)
      if (lease.state != api::LeaseState::ended) some.push_back(lease);
    return some;
  }

  SharedClock clock_;
  node::LeaseWorld world_;
  Evidence evidence_;
  Holders holders_;
  Disturber disturber_;
  Service service_;
  Checker checker_;
  bool faults_ = false;
  std::map<std::string, int> counts_;
  std::vector<std::string> violations_;
};

// One thing that happens in daily life, or some time that passes.
void Chaos::act() {
  const int kind = holders_.draw(100);
  if (kind < 82) {
    for (int connection = 0; connection < kConnections; ++connection) {
      if (!service_.free(connection)) continue;
      if (const auto ask = holders_.next(connection)) service_.send(connection, *ask);
      break;
    }
  } else if (kind < 90) {
    clock_.advance(std::chrono::milliseconds(holders_.draw(8000)));
  } else if (kind < 96) {
    holders_.end_one_process();
  } else if (kind < 98) {
    disturber_.add_fault();
    faults_ = true;
  } else if (auto all = holders_.chance(30) ? all_leases() : std::nullopt) {
    add(checker_.always(live(*all)));
  }
  take_answers(holders_.chance(40) ? 2ms : 0ms);
}

void Chaos::disturb() {
  const int kind = holders_.draw(100);
  if (kind < 30) {
    if (!service_.runs()) return;
    ++counts_["kills"];
    service_.kill();
    after_death();
    if (holders_.chance(30)) disturber_.reboot(true);
  } else if (kind < 45) {
    disturber_.lose_or_find_gpu();
  } else if (kind < 52) {  // the kernel unloads no driver that someone has open
    drain(60s);
    stop();
    disturber_.reboot(false);
  } else if (kind < 65) {
    drain(60s);
    stop();
  } else if (kind < 70 && service_.runs()) {
    if (!service_.ask({"reload", node::LeaseWorld::administrator(), "", ""})) after_death();
  }
}

void Chaos::drain(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (service_.runs() && holders_.waiting() && std::chrono::steady_clock::now() < until) take_answers(20ms);
  if (service_.runs() && holders_.waiting()) violations_.push_back("the daemon did not answer");
}

std::optional<std::vector<api::Lease>> Chaos::all_leases() {
  auto answer = service_.ask({"leases", node::LeaseWorld::administrator(), "", ""});
  if (!answer) {
    after_death();
    return std::nullopt;
  }
  return std::move(answer->leases);
}

// Everything is answered, and what was started comes to its end: then all is checked. A life that was to end by itself
// gets no more than this.
void Chaos::settle() {
  disturber_.clear_faults();
  faults_ = false;
  // What such a life did not sync is in its memory alone: the ledger cannot be read beside it.
  if (service_.runs() && service_.life().power_cut) stop();
  // Time, and turns of the daemon: on a busy machine the one passes without the other.
  const auto until = std::chrono::steady_clock::now() + 15s;
  for (int turns = 0;; ++turns) {
    must_run({});
    if (!violations_.empty()) return;
    drain(60s);
    // A call of no consequence: the conductor looks at everything.
    if (service_.runs() && !service_.ask({"park", node::LeaseWorld::administrator(), "nobody", ""})) after_death();
    if (!service_.runs()) continue;
    const auto all = all_leases();
    if (!all) continue;
    add(checker_.always(live(*all)));
    const Checker::Words words = checker_.settled(live(*all));
    const bool late = turns > 100 && std::chrono::steady_clock::now() > until;
    if (!words.empty() && !late && violations_.empty()) {
      take_answers(20ms);
      continue;
    }
    add(words);
    add(checker_.kept(*all));
    add(holders_.violations());
    holders_.violations().clear();
    if (!violations_.empty()) tell();
    ++counts_["checks"];
    return;
  }
}

// What helps to find why.
void Chaos::tell() {
  if (const auto notes = service_.ask({"status", node::LeaseWorld::administrator(), "", ""}); notes)
    add(notes->error ? Checker::Words{"status: " + notes->error->message} : notes->leases.at(0).cause_details);
  if (const auto nobody = service_.ask({"park", node::LeaseWorld::administrator(), "nobody", ""}); nobody)
    if (nobody->error && nobody->error->code != ErrorCode::not_found)
      add({"it serves nobody: " + nobody->error->message});
  add(evidence_.ledger(node::ledger_file(world_.options)).open_operations);
  add(evidence_.last_events(node::ledger_file(world_.options), 80));
}

// All is released: nothing is left but idle instances.
void Chaos::finish() {
  disturber_.find_all_gpus();
  holders_.end_all_processes();
  settle();
  stop();  // it may have been meant to die yet
  settle();
  for (const auto& [name, promise] : std::map(holders_.promises())) {
    holders_.promises().at(name).release_asked = true;
    (void)service_.ask({"release", node::LeaseWorld::administrator(), name, R"({"force": true, "grace_ms": 0})"});
  }
  settle();
  const auto all = all_leases();
  if (!all || !live(*all).empty()) violations_.push_back("leases are left that nobody holds");
  stop();
  must_run({});
  settle();
}

void Chaos::report() const {
  Tally& tally = const_cast<Holders&>(holders_).tally();
  const auto print = [](const char* title, const std::map<std::string, int>& counts) {
    std::printf("%s:", title);
    for (const auto& [what, count] : counts) std::printf(" %s %d,", what.c_str(), count);
    std::printf("\n");
  };
  print("events", counts_);
  print("disturbances", disturber_.counts());
  print("asked", tally.asked);
  print("granted", tally.granted);
  print("refused", tally.refused);
  print("ends", tally.causes);
}

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Chaos, WhatWasAcknowledgedHolds) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has holders of many users";
  const std::uint64_t seed = number_of("PARTITA_CHAOS_SEED", 1);
  const std::uint64_t minutes = number_of("PARTITA_CHAOS_MINUTES", 30);
  std::printf("PARTITA_CHAOS_SEED=%llu PARTITA_CHAOS_MINUTES=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(minutes));
  Chaos chaos(seed);
  chaos.run(std::chrono::minutes(minutes));
  chaos.report();
  for (const std::string& violation : chaos.violations()) ADD_FAILURE() << violation;
}

}  // namespace
}  // namespace partita::chaos
