// A daemon on a node that changes beneath it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "deliver/confine.h"
#include "node/epoch.h"
#include "node/lease_test_support.h"
#include "node/ledger.h"
#include "node/paths.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Daemon, NoticesAnotherEpochBeforeItLooks) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("2g.10gb", "a")));
  value(emulator::reboot(world.emulated.name));
  value(daemon->lease(world.ask("1g.5gb", "b")));
  const auto leases = value(daemon->leases({}));
  ASSERT_THAT(leases, SizeIs(2));
  EXPECT_EQ(leases[0].name, "a");
  EXPECT_EQ(leases[0].state, api::LeaseState::active);
  EXPECT_EQ(world.draw(0), "on 2g.10gb@4* 1g.5gb@6*");
}

// Not only by the next start.
TEST(Daemon, EndsWhatTheDriverRefusedOnceItDoesNot) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {"7g.40gb@0"}}}));
  auto daemon = world.open_daemon();
  world.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999, 1000);
  api::LeaseRequest request = world.ask("1g.5gb", "a");
  request.no_wait = true;
  EXPECT_FALSE(daemon->lease(request));
  EXPECT_THAT(value(daemon->status()).notes, SizeIs(1));
  // Until then the GPU takes nobody, whoever waits.
  for (const char* name : {"b", "c"})
    EXPECT_EQ(value(daemon->lease(world.ask("2g.10gb", name))).at(0).state, api::LeaseState::waiting);
  value(emulator::clear_faults(world.emulated.name));
  for (int i = 0; i < 100 && !value(daemon->status()).notes.empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(value(daemon->status()).notes, IsEmpty());
  value(daemon->lease(request));
}

// Whatever left it open, and whatever memory says.
TEST(Daemon, SettlesEachOperationThatTheJournalHas) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto daemon = world.open_daemon();
  Ledger ledger = value(Ledger::open(ledger_file(world.options), Database::Access::write));
  const layout::NodeState state = value(daemon->status()).state;
  for (const bool with_gpu : {false, true}) {
    Operation operation;
    operation.epoch = read_epoch(world.options.driver.device_root);
    operation.pid = ::getpid();
    operation.command = "partita apply";
    const LayoutRecord layout = record_of(state.gpus.at(0));
    if (with_gpu) operation.gpus = {{state.gpus.at(0).uuid, layout, layout}};
    value(ledger.begin(operation, world.clock.time));
    for (int i = 0; i < 100 && !value(ledger.open_operations()).empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_THAT(value(ledger.open_operations()), IsEmpty()) << with_gpu;
  }
  EXPECT_EQ(world.draw(0), "on 3g.20gb@4");
}

// Others made something where the old layout and the new one have their own: theirs stays, the rest comes back.
TEST(Daemon, SettlesBesideWhatOthersMadeMeanwhile) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  world.make_foreign(0, "3g.20gb@4");
  const layout::Gpu gpu = world.state().gpus.at(0);
  const auto layout = [&](const std::vector<std::string>& names) {
    std::vector<layout::GpuInstance> instances;
    for (const std::string& name : names) instances.push_back(world.instance(*gpu.board, name));
    return record_of(*gpu.board, true, instances);
  };
  Operation operation;
  operation.epoch = read_epoch(world.options.driver.device_root);
  operation.pid = ::getpid();
  operation.command = "partita apply";
  operation.gpus = {{gpu.uuid, layout({"2g.10gb@0", "2g.10gb@4"}), layout({"7g.40gb@0"})}};
  Ledger ledger = value(Ledger::open(ledger_file(world.options), Database::Access::write));
  value(ledger.begin(operation, world.clock.time));
  auto daemon = world.open_daemon();
  EXPECT_THAT(value(daemon->status()).notes, IsEmpty());
  EXPECT_THAT(value(ledger.open_operations()), IsEmpty());
  EXPECT_EQ(world.draw(0), "on 2g.10gb@0 3g.20gb@4*");
}

// What is made again for a lease is nobody else's, not for a moment.
TEST(Daemon, WhatComesBackIsItsLeases) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("4g.20gb", "c")));
  value(daemon->lease(world.ask("3g.20gb", "a")));
  world.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999, 1000);
  api::Requirement other;
  other.profile = "2g.10gb";
  EXPECT_FALSE(daemon->resize(world.change("a"), other));
  EXPECT_EQ(value(daemon->lease(world.ask("3g.20gb", "b"))).at(0).state, api::LeaseState::waiting);
  value(emulator::clear_faults(world.emulated.name));
  for (int i = 0; i < 100 && !value(daemon->status()).notes.empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(value(daemon->status()).notes, IsEmpty());
  EXPECT_EQ(value(daemon->leases({{}, "a", "", true, 0, 0})).at(0).state, api::LeaseState::active);
  EXPECT_EQ(value(daemon->leases({{}, "b", "", true, 0, 0})).at(0).state, api::LeaseState::waiting);
}

// An apply that could not be rolled back: nothing is granted in the middle of it, and it is closed once that can be.
TEST(Daemon, NothingIsGrantedInTheMiddleOfAnApply) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {"1g.5gb@0", "3g.20gb@4"}}}));
  auto daemon = world.open_daemon();
  world.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999, 1000);
  EXPECT_FALSE(daemon->apply(world.exactly({{0, {"1g.5gb@0", "2g.10gb@4"}}}), world.recorder));
  EXPECT_THAT(value(daemon->status()).notes, SizeIs(1));
  EXPECT_EQ(value(daemon->lease(world.ask("1g.5gb", "a"))).at(0).state, api::LeaseState::waiting)
      << "though one is idle";
  value(emulator::clear_faults(world.emulated.name));
  for (int i = 0; i < 100 && !value(daemon->status()).notes.empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(value(daemon->status()).notes, IsEmpty());
  EXPECT_EQ(value(daemon->leases({})).at(0).state, api::LeaseState::active);
}

// Who waits is not ended by a cut that fails, and goes where the driver does not.
TEST(Daemon, WhoWaitsOutlivesACutThatFails) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("7g.40gb", "a")));
  value(daemon->lease(world.ask("7g.40gb", "b")));
  EXPECT_EQ(value(daemon->lease(world.ask("1g.5gb", "c"))).at(0).state, api::LeaseState::waiting);
  world.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 999, 1);
  value(daemon->release(world.change("a")));
  const api::Lease failed = value(daemon->leases({{}, "c", "", true, 0, 0})).at(0);
  EXPECT_EQ(failed.state, api::LeaseState::waiting);
  EXPECT_THAT(failed.cause, testing::HasSubstr("cutting failed"));
  value(daemon->release(world.change("b")));
  EXPECT_EQ(value(daemon->leases({{}, "c", "", true, 0, 0})).at(0).state, api::LeaseState::active);
}

// An answer that says nothing for good ends nobody's work.
TEST(Daemon, LeasesOutliveReadingsThatFail) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("2g.10gb", "a")));
  world.fault("nvmlDeviceGetGpuInstances", 999, 1000);
  EXPECT_EQ(daemon->park(world.change("a")).error().code, ErrorCode::driver) << "what runs there cannot be told";
  EXPECT_EQ(value(daemon->release(world.change("a"))).state, api::LeaseState::releasing);
  value(daemon->lease(world.ask("1g.5gb", "b")));
  value(emulator::clear_faults(world.emulated.name));
  EXPECT_EQ(daemon->park(world.change("nobody")).error().code, ErrorCode::not_found);
  const auto leases = value(daemon->leases({}));
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].name, "b");
  EXPECT_EQ(world.draw(0), "on 2g.10gb@4 1g.5gb@6*");
}

// A resize that finds no room leaves the lease as it was; when that cannot be handed over any more, its end says so.
TEST(Daemon, EndsUnderItsNameWhatCannotBePutBack) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("1g.5gb", "a")));
  value(daemon->lease(world.ask("4g.20gb", "b")));
  std::filesystem::remove_all(world.options.cdi_folder);
  world.root.write("cdi", "a file where the folder has to be");
  api::Requirement whole;
  whole.profile = "7g.40gb";
  EXPECT_FALSE(daemon->resize(world.change("a"), whole));
  const auto all = value(daemon->leases({{}, "a", "", true, 0, 0}));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, api::LeaseState::ended);
  EXPECT_THAT(all[0].cause, testing::HasSubstr("cdi"));
}

// What a lease has is not given to others while it is being resized: it may have to be put back.
TEST(Daemon, KeepsWhatALeaseHasWhileItIsResized) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  std::atomic<bool> held = false;
  world.options.on_event = [&](std::string_view) { held.wait(true); };
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("3g.20gb", "a")));
  value(daemon->lease(world.ask("4g.20gb", "b")));
  // While the daemon works on one call, others come together.
  held = true;
  std::jthread first([&] { value(daemon->renew(world.change("b"), std::chrono::hours(1))); });
  std::jthread resizes([&] {
    api::Requirement whole;
    whole.profile = "7g.40gb";
    EXPECT_FALSE(daemon->resize(world.change("a"), whole));
  });
  std::jthread leases([&] {
    api::LeaseRequest request = world.ask("3g.20gb", "c");
    request.no_wait = true;
    EXPECT_FALSE(daemon->lease(request));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  held = false;
  held.notify_all();
  for (std::jthread* thread : {&first, &resizes, &leases}) thread->join();
  EXPECT_THAT(value(daemon->leases({})), SizeIs(2));
  // In its own room it grows.
  value(daemon->release(world.change("b")));
  api::Requirement whole;
  whole.profile = "7g.40gb";
  EXPECT_EQ(value(daemon->resize(world.change("a"), whole)).state, api::LeaseState::active);
  EXPECT_EQ(world.draw(0), "on 7g.40gb@0*");
}

TEST(Daemon, TheOthersOfARequestWaitOnWhenTheFirstIsReleased) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("7g.40gb", "whole")));
  auto request = world.ask("1g.5gb", "many");
  request.count = 3;
  EXPECT_EQ(value(daemon->lease(request)).at(0).state, api::LeaseState::waiting);
  EXPECT_EQ(value(daemon->release(world.change("many-1"))).state, api::LeaseState::ended);
  value(daemon->release(world.change("whole")));
  const auto leases = value(daemon->leases({}));
  ASSERT_THAT(leases, SizeIs(2));
  for (const api::Lease& lease : leases) EXPECT_EQ(lease.state, api::LeaseState::active) << lease.name;
}

// Where only a larger partition than was asked for is free, the quota still holds.
TEST(Daemon, AQuotaHoldsForWhatALeaseReallyGets) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}, {board: h100-sxm5-80gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  world.options.policy_file =
      world.root.write("policy.yaml", "version: v1\neveryone: {memory: 6GiB}\nusers: {b: {memory: 12GiB}}\n");
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("7g.40gb", "a100")));
  const auto wanted = [&](const std::string& user, const std::string& name) {
    api::LeaseRequest request = world.ask_as(user, "", name);
    request.requirement.memory = mib(4500);
    return request;
  };
  EXPECT_EQ(value(daemon->lease(wanted("c", "c"))).at(0).state, api::LeaseState::waiting);
  EXPECT_EQ(value(daemon->lease(wanted("b", "b"))).at(0).state, api::LeaseState::active);
  EXPECT_EQ(daemon->lease(wanted("b", "b2")).error().code, ErrorCode::denied) << "it has 10 of 12 GiB";
  value(daemon->release(world.change("a100")));
  EXPECT_EQ(value(daemon->leases({{}, "c", "", true, 0, 0})).at(0).state, api::LeaseState::active);
}

// Those that are planned together share what is left of a quota.
TEST(Daemon, AQuotaHoldsForThoseThatWaitTogether) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}, {board: h100-sxm5-80gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  world.options.policy_file = world.root.write("policy.yaml", "version: v1\neveryone: {memory: 16GiB}\n");
  auto daemon = world.open_daemon();
  for (const char* profile : {"7g.40gb", "7g.80gb"}) value(daemon->lease(world.ask(profile, profile)));
  value(daemon->lease(world.ask("7g.40gb", "blocked")));
  for (const char* name : {"b1", "b2"}) {
    api::LeaseRequest request = world.ask_as("b", "", name);
    request.requirement.memory = mib(4500);
    EXPECT_EQ(value(daemon->lease(request)).at(0).state, api::LeaseState::waiting);
  }
  value(daemon->release(world.change("7g.80gb")));
  int active = 0;
  for (const char* name : {"b1", "b2"})
    active += value(daemon->leases({{}, name, "", true, 0, 0})).at(0).state == api::LeaseState::active ? 1 : 0;
  EXPECT_EQ(active, 1) << "two have 20 GiB on an H100";
}

TEST(Daemon, CutsBesideWhatOthersMade) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  world.make_foreign(0, "3g.20gb@4", false);
  auto daemon = world.open_daemon();
  EXPECT_EQ(value(daemon->lease(world.ask("2g.10gb", "a"))).at(0).state, api::LeaseState::active);
}

// What a caller was answered, the same caller reads.
TEST(Daemon, AnswersAreSeenByTheNextReading) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  auto daemon = world.open_daemon();
  const auto pinned = [&](const std::string& name) {
    const layout::NodeState state = value(daemon->status()).state;
    for (const layout::Gpu& gpu : state.gpus)
      for (const layout::GpuInstance& instance : gpu.instances)
        for (const layout::Pin& pin : instance.pins)
          if (pin.holder.starts_with("lease " + name + " ")) return true;
    return false;
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 15; ++n) {
        const std::string name = "t" + std::to_string(t) + "-" + std::to_string(n);
        ASSERT_TRUE(daemon->lease(world.ask(n % 2 == 0 ? "1g.5gb" : "2g.10gb", name)));
        EXPECT_TRUE(pinned(name)) << name;
        EXPECT_THAT(value(daemon->leases({{}, name, "", false, 0, 0})), SizeIs(1));
        ASSERT_TRUE(daemon->release(world.change(name)));
        EXPECT_FALSE(pinned(name)) << name;
        EXPECT_THAT(value(daemon->leases({{}, name, "", false, 0, 0})), IsEmpty());
      }
    });
}

TEST(Daemon, ItsHoldOnTheNodeIsNoTrouble) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  auto daemon = world.open_daemon();
  for (const bool by_itself : {true, false}) {
    const auto findings = value(by_itself ? daemon->doctor() : world.open()->doctor()).findings;
    const auto lock = std::ranges::find(findings, "node lock", &api::Finding::what);
    ASSERT_NE(lock, findings.end());
    EXPECT_EQ(lock->level, api::Finding::Level::ok);
    EXPECT_THAT(lock->found, testing::StartsWith("held by the daemon, pid " + std::to_string(::getpid())));
  }
}

// What it stored in a file that has no name would be lost with it; and another could lock a lock that was made anew.
TEST(Daemon, GrantsNothingMoreOnceItsLedgerOrLockIsGone) {
  for (const auto file : {&ledger_file, &lock_file}) {
    LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
    world.must_apply(world.exactly({{0, {}}}));
    std::atomic<int> lost = 0;
    world.options.on_lost = [&] { ++lost; };
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("1g.5gb", "a")));
    const auto gone = file(world.options);
    std::filesystem::remove(gone);
    for (int asked = 0; asked < 2; ++asked) {
      const auto refused = daemon->lease(world.ask("1g.5gb", "b"));
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
      EXPECT_THAT(refused.error().message, testing::HasSubstr(gone.string() + " was removed or replaced"));
      std::ofstream(gone).put('x');
    }
    EXPECT_EQ(value(daemon->leases({})).size(), 1U);
    EXPECT_FALSE(daemon->policy(LeaseWorld::ask("").caller));
    EXPECT_FALSE(daemon->grounded());
    EXPECT_EQ(lost, 1);
  }
}

// Both by a daemon that sees it happen and by one that begins after it.
TEST(Daemon, WhatRunsOnALostGpuEndsWithItsLease) {
  if (::geteuid() != 0) GTEST_SKIP() << "control groups need root";
  for (const bool running : {true, false}) {
    LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
    world.options.confinement_prefix = "partita-test-" + std::to_string(::getpid());
    world.must_apply(world.exactly({{0, {}}}));
    emulator::Child user;  // before the node's lock is open, which it would have, too
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("1g.5gb", "a")));
    value(daemon->attach(world.change("a"), process_facts(user.pid()).value().id));
    auto confinement = value(deliver::Confinement::open(world.options.confinement_prefix));
    ASSERT_THAT(confinement.leases(), SizeIs(1));
    const std::jthread reaper([&] { ::waitpid(user.pid(), nullptr, 0); });
    if (!running) daemon.reset();
    value(emulator::set_condition(world.emulated.name, "0", emulator::Condition::lost));
    if (!running) daemon = world.open_daemon();
    (void)daemon->lease(world.ask("1g.5gb", "b"));  // it looks at the node
    EXPECT_THAT(value(daemon->leases({})), IsEmpty()) << "running " << running;
    EXPECT_THAT(confinement.leases(), IsEmpty()) << "running " << running;
    ::kill(user.pid(), SIGKILL);
  }
}

// Turned while the daemon looks at it.
struct TurnedClock final : Clock {
  std::atomic<Time> time{Time(std::chrono::hours(500'000))};
  Time now() const override { return time; }
};

TEST(Daemon, AClockThatIsSetBackPutsOffNoEnd) {
  if (::geteuid() != 0) GTEST_SKIP() << "control groups need root";
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.options.confinement_prefix = "partita-test-" + std::to_string(::getpid());
  world.must_apply(world.exactly({{0, {}}}));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t stubborn = ::fork();
  if (stubborn == 0) {
    ::signal(SIGTERM, SIG_IGN);
    (void)!::write(ready[1], "r", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  for (const int end : ready) ::close(end);
  TurnedClock clock;
  auto daemon = value(open_daemon(world.catalog, clock, world.options, world.root.path() / "socket"));
  value(daemon->lease(world.ask("1g.5gb", "a")));
  value(daemon->attach(world.change("a"), process_facts(stubborn).value().id));
  const std::jthread reaper([&] { ::waitpid(stubborn, nullptr, 0); });
  auto change = world.change("a");
  change.grace = std::chrono::seconds(10);
  EXPECT_EQ(value(daemon->release(change)).state, api::LeaseState::releasing);
  clock.time = clock.now() - std::chrono::hours(1);
  (void)daemon->lease(world.ask("1g.5gb", "b"));
  EXPECT_TRUE(process_facts(stubborn));
  clock.time = clock.now() + std::chrono::seconds(10);
  const auto releasing = [&] { return value(daemon->leases({})).at(0).state == api::LeaseState::releasing; };
  for (int i = 0; i < 100 && releasing(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(releasing());
  EXPECT_FALSE(process_facts(stubborn));
  ::kill(stubborn, SIGKILL);
}

}  // namespace
}  // namespace partita::node
