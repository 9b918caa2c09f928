// Leases on an emulated node, without a daemon and with one.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/duration.h"
#include "node/lease_test_support.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using api::LeaseState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Lease, CutsGivesAndReleases) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  auto node = world.open();
  const api::Lease lease = value(node->lease(world.ask("1g.5gb", "a"))).at(0);
  EXPECT_EQ(lease.state, LeaseState::active);
  EXPECT_TRUE(lease.recut);
  ASSERT_TRUE(lease.grant);
  ASSERT_THAT(lease.grant->devices, SizeIs(1));
  EXPECT_EQ(lease.grant->devices[0].profile, "1g.5gb");
  EXPECT_EQ(lease.grant->cuda_visible_devices, lease.grant->devices[0].uuid);
  EXPECT_THAT(lease.grant->nodes, SizeIs(5));
  EXPECT_THAT(value(node->leases({})), SizeIs(1));
  EXPECT_THAT(world.pins(0), ElementsAre(HasSubstr("lease a (root")));

  const api::Lease ended = value(node->release(world.change("a")));
  EXPECT_EQ(ended.state, LeaseState::ended);
  EXPECT_EQ(ended.cause, "released by root");
  EXPECT_THAT(value(node->leases({})), IsEmpty());
  EXPECT_THAT(world.pins(0), IsEmpty());
  // The instance stays, idle, and serves the next.
  const api::Lease next = value(node->lease(world.ask("1g.5gb", "b"))).at(0);
  EXPECT_FALSE(next.recut);
  EXPECT_EQ(next.grant->devices[0].uuid, lease.grant->devices[0].uuid);
}

constexpr const char* kOneGpu = "gpus: [{board: a100-sxm4-40gb, count: 1}]\n";

TEST(Lease, PermissionsAreTheHoldersOnlyWhileItLives) {
  if (::geteuid() != 0) GTEST_SKIP() << "nodes are plain files without root";
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@0"}}}));
  auto request = world.ask("3g.20gb", "a");
  request.holder = {api::HolderKind::user, 1234, "anna", "", std::nullopt};
  const api::Lease lease = value(world.open()->lease(request)).at(0);
  const std::string node = lease.grant->nodes.at(4).path;
  EXPECT_EQ(world.owner(node), 1234U);
  EXPECT_TRUE(std::filesystem::exists(world.options.cdi_folder / "partita-a.json"));
  api::LeaseChange change = world.change("a");
  EXPECT_EQ(world.open()->release(change).error().code, ErrorCode::denied) << "another's, without force";
  change.force = true;
  value(world.open()->release(change));
  EXPECT_EQ(world.owner(node), 0U);
  EXPECT_FALSE(std::filesystem::exists(world.options.cdi_folder / "partita-a.json"));
}

TEST(Lease, SameNameGivesTheSameLeaseOrIsRefused) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto node = world.open();
  const api::Lease first = value(node->lease(world.ask("1g.5gb", "a"))).at(0);
  const api::Lease again = value(node->lease(world.ask("1g.5gb", "a"))).at(0);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.grant->cuda_visible_devices, first.grant->cuda_visible_devices);
  EXPECT_EQ(node->lease(world.ask("2g.10gb", "a")).error().code, ErrorCode::invalid);
  EXPECT_EQ(node->lease(world.ask("1g.5gb", "-a")).error().code, ErrorCode::invalid);
  EXPECT_EQ(node->lease(world.ask("9g.5gb", "b")).error().code, ErrorCode::not_found);
  EXPECT_EQ(node->release(world.change("nobody")).error().code, ErrorCode::not_found);
}

TEST(Lease, SeveralAreGrantedTogetherOrNotAtAll) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto node = world.open();
  auto request = world.ask("2g.10gb", "many");
  request.count = 4;
  const auto refused = node->lease(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_space);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("3 of 4 leases fit now, and they are given all or none"));
  EXPECT_THAT(all_of(refused.error()), HasSubstr("2g.10gb@0 (another lease of this request)"));
  EXPECT_THAT(value(node->leases({})), IsEmpty());
  EXPECT_EQ(world.draw(0), "on");
  request.count = 3;
  const auto leases = value(node->lease(request));
  ASSERT_THAT(leases, SizeIs(3));
  EXPECT_EQ(leases[2].name, "many-3");
  EXPECT_EQ(world.draw(0), "on 2g.10gb@0* 2g.10gb@2* 2g.10gb@4*");
}

TEST(Lease, SeveralThatDoNotFitAreToldWhoIsInTheWayOfTheNext) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto node = world.open();
  value(node->lease(world.ask("3g.20gb", "other")));
  auto request = world.ask("2g.10gb", "many");
  request.count = 3;
  const auto refused = node->lease(request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(all_of(refused.error()),
              HasSubstr("2 of 3 leases fit now, and they are given all or none; of the next: "
                        "2g.10gb does not fit on this node now; releasing lease other (root)"));
  EXPECT_THAT(value(node->leases({})), SizeIs(1));
}

TEST(Lease, AppliesLeaveItsPartitionAlone) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  value(world.open()->lease(world.ask("3g.20gb", "a")));
  const auto refused = world.apply(world.cut("[0]", R"("1g.5gb": 7)"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("lease a (root)"));
  EXPECT_EQ(world.apply(world.off("[0]")).error().code, ErrorCode::busy);
  world.must_apply(world.cut("[0]", R"("3g.20gb": 1, "1g.5gb": 4)"));
  world.must_apply(world.cut("[0]", R"("1g.5gb": 7)", {.force = true, .hooks = {}}));
  api::LeaseQuery query;
  query.ended = true;
  const auto leases = value(world.open()->leases(query));
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases[0].state, LeaseState::ended);
  EXPECT_THAT(leases[0].cause, HasSubstr("destroyed by an apply with --force"));
}

TEST(Lease, ExpiresAfterWarningAndGraceUnlessRenewed) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto node = world.open();
  auto request = world.ask("3g.20gb", "a");
  request.duration = std::chrono::hours(1);
  const api::Lease lease = value(node->lease(request)).at(0);
  EXPECT_EQ(lease.expires, world.clock.time + std::chrono::hours(1));
  emulator::Child user;
  world.hold(0, "3g.20gb@4", user.pid());
  const auto settled = [&] { EXPECT_FALSE(node->release(world.change("nobody"))); };
  const auto kinds = [&] {
    std::vector<std::string> all;
    for (const api::Event& event : value(node->events({}))) all.push_back(event.kind);
    return all;
  };
  world.clock.time += std::chrono::minutes(56);
  settled();
  EXPECT_THAT(kinds(), testing::Contains("lease.expiring"));
  EXPECT_EQ(value(node->renew(world.change("a"), std::nullopt)).expires, world.clock.time + std::chrono::hours(1));
  world.clock.time += std::chrono::minutes(60);
  settled();
  EXPECT_EQ(value(node->leases({})).at(0).state, LeaseState::active) << "in its grace, because something runs";
  world.clock.time += std::chrono::minutes(2);
  settled();
  EXPECT_EQ(value(node->leases({})).at(0).state, LeaseState::releasing);
  EXPECT_THAT(world.draw(0), HasSubstr("3g.20gb@4*"));
  user.end();
  settled();
  EXPECT_THAT(value(node->leases({})), IsEmpty());
  EXPECT_THAT(kinds(), testing::Contains("lease.ended"));
}

TEST(Lease, ResizesParksAndUnparksWhileOthersRun) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@4", "1g.5gb@0"}}}));
  auto node = world.open();
  const api::Lease other = value(node->lease(world.ask("1g.5gb", "other"))).at(0);
  emulator::Child user;
  world.hold(0, "1g.5gb@0", user.pid());
  value(node->lease(world.ask("3g.20gb", "vm")));

  const api::Lease smaller = value(node->resize(world.change("vm"), world.ask("2g.10gb").requirement));
  EXPECT_EQ(smaller.grant->devices[0].profile, "2g.10gb");
  const auto refused = node->resize(world.change("vm"), world.ask("7g.40gb").requirement);
  EXPECT_FALSE(refused);
  EXPECT_EQ(value(node->leases({})).at(1).grant->devices[0].profile, "2g.10gb") << "as it was";
  EXPECT_EQ(node->resize(world.change("other"), world.ask("2g.10gb").requirement).error().code, ErrorCode::busy);

  const api::Lease parked = value(node->park(world.change("vm")));
  EXPECT_EQ(parked.state, LeaseState::parked);
  EXPECT_FALSE(parked.grant);
  EXPECT_EQ(node->park(world.change("other")).error().code, ErrorCode::busy);
  value(node->lease(world.ask("3g.20gb", "guest")));
  const auto full = node->unpark(world.change("vm"));
  EXPECT_TRUE(full) << "there is room beside it: " << all_of(full.error());
  EXPECT_EQ(world.device(0, "1g.5gb@0"), other.grant->devices[0].uuid);
}

TEST(Lease, KeepsToQuotas) {
  LeaseWorld world(kOneGpu);
  world.options.policy_file =
      world.root.write("policy.yaml", "version: v1\neveryone: {partitions: 1, longest: 1h}\ngrace: 1m\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask_as("anna", "1g.5gb", "a")));
  EXPECT_EQ(daemon->lease(world.ask_as("anna", "1g.5gb", "b")).error().code, ErrorCode::denied);
  value(daemon->lease(world.ask_as("bert", "1g.5gb", "b")));
  auto longer = world.ask_as("carl", "1g.5gb", "c");
  longer.duration = std::chrono::hours(2);
  EXPECT_EQ(daemon->lease(longer).error().code, ErrorCode::denied);
  world.root.write("policy.yaml", "version: v1\neveryone: {partitions: 2}\n");
  value(daemon->reload());
  value(daemon->lease(world.ask_as("anna", "1g.5gb", "a2")));
  world.root.write("policy.yaml", "version: v1\nevery: {}\n");
  EXPECT_FALSE(daemon->reload());
  EXPECT_EQ(daemon->lease(world.ask_as("anna", "1g.5gb", "a3")).error().code, ErrorCode::denied) << "the old one stays";
  EXPECT_THAT(value(daemon->policy(world.as("anna"))).quotas, testing::Not(IsEmpty()));
}

TEST(Lease, GroupsShareTheirQuota) {
  LeaseWorld world(kOneGpu);
  world.options.policy_file = world.root.write("policy.yaml", "version: v1\ngroups: {team: {compute-slices: 3}}\n");
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  const auto ask = [&](const std::string& user, const std::string& profile, std::vector<std::string> groups) {
    auto request = world.ask_as(user, profile, user + profile.substr(0, 2));
    request.caller.groups = std::move(groups);
    return daemon->lease(request);
  };
  value(ask("anna", "2g.10gb", {"users", "team"}));
  value(ask("bert", "1g.5gb", {"users"}));
  const auto refused = ask("carl", "2g.10gb", {"team", "users"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::denied);
  EXPECT_THAT(all_of(refused.error()), HasSubstr("anna2g")) << "says who has what";
  value(ask("carl", "1g.5gb", {"team", "users"}));
  EXPECT_EQ(ask("dora", "1g.5gb", {"team"}).error().code, ErrorCode::denied);
  api::LeaseChange change = world.change("carl1g");
  change.caller = world.as("carl");
  change.caller.groups = {"team"};
  EXPECT_EQ(daemon->resize(change, world.ask("2g.10gb").requirement).error().code, ErrorCode::denied);
}

TEST(Lease, InUseIsTheLastWord) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  world.must_apply(world.exactly({{0, {"7g.40gb@0"}}, {1, {"7g.40gb@0"}}}));
  auto node = world.open();
  constexpr int kInUse = 19;
  world.fault("nvmlComputeInstanceDestroy", kInUse, 1);
  const api::Lease lease = value(node->lease(world.ask("1g.5gb", "a"))).at(0);
  EXPECT_EQ(lease.state, LeaseState::active) << "planned again on the other GPU";
  EXPECT_TRUE(world.draw(0) == "on 7g.40gb@0" || world.draw(1) == "on 7g.40gb@0") << world.draw(0) << world.draw(1);
}

TEST(Lease, EndsWhenItsPartitionIsDestroyedByOthers) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto node = world.open();
  value(node->lease(world.ask("3g.20gb", "a")));
  {
    driver::Driver driver = world.open_driver();
    const layout::Gpu gpu = value(driver.state()).gpus.at(0);
    value(driver.destroy_compute_instance(gpu, gpu.instances[0].id, gpu.instances[0].compute[0].id));
    value(driver.destroy_gpu_instance(gpu, gpu.instances[0].id));
  }
  EXPECT_FALSE(node->release(world.change("nobody")));
  api::LeaseQuery query;
  query.ended = true;
  EXPECT_EQ(value(node->leases(query)).at(0).cause, "3g.20gb@4 on GPU 0 was destroyed by someone else");
}

TEST(Lease, ComesBackAfterAReboot) {
  for (const char* board : {"a100-sxm4-40gb", "h100-sxm5-80gb"}) {
    LeaseWorld world(std::string("gpus: [{board: ") + board + ", count: 2}]\n");
    const bool hopper = std::string(board).starts_with("h");
    const std::string profile = hopper ? "3g.40gb" : "3g.20gb";
    world.must_apply(world.exactly({{0, {profile + "@4"}}, {1, {}}}));
    api::Lease lease = value(world.open()->lease(world.ask(profile, "a"))).at(0);
    value(world.open()->lease(world.ask(profile, "b")));
    value(emulator::reboot(world.emulated.name));
    auto daemon = world.open_daemon();
    const auto leases = value(daemon->leases({}));
    ASSERT_THAT(leases, SizeIs(2)) << board;
    for (const api::Lease& live : leases) EXPECT_EQ(live.state, LeaseState::active) << live.cause;
    EXPECT_EQ(leases[0].grant->devices[0].start, lease.grant->devices[0].start);
    EXPECT_EQ(leases[0].grant->devices[0].uuid, lease.grant->devices[0].uuid);
    daemon.reset();
    EXPECT_THAT(world.pins(0), testing::Contains("lease a (root)"));
  }
}

TEST(Lease, OfAWholeGpuKeepsItsModeOff) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 2}]\n");
  auto node = world.open();
  auto request = world.ask("", "whole");
  request.requirement.whole_gpu = true;
  const api::Lease lease = value(node->lease(request)).at(0);
  EXPECT_TRUE(lease.grant->devices[0].uuid.starts_with("GPU-"));
  const int index = lease.grant->devices[0].gpu_index;
  EXPECT_EQ(world.apply(world.cut("[" + std::to_string(index) + "]", R"("1g.5gb": 7)")).error().code, ErrorCode::busy);
  ASSERT_THAT(world.state().gpus.at(static_cast<std::size_t>(index)).pins, SizeIs(1));
  value(node->release(world.change("whole")));
  world.must_apply(world.cut("[" + std::to_string(index) + "]", R"("1g.5gb": 7)"));
}

TEST(Lease, AttachedProcessesAreConfinedAndEndWithIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "control groups need root";
  LeaseWorld world(kOneGpu);
  world.options.confinement_prefix = "partita-test-" + std::to_string(::getpid());
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto node = world.open();
  value(node->lease(world.ask("3g.20gb", "a")));
  emulator::Child user;
  value(node->attach(world.change("a"), process_facts(user.pid()).value().id));
  EXPECT_THAT(world.pins(0), testing::Contains(HasSubstr("pid " + std::to_string(user.pid()))));
  EXPECT_EQ(node->park(world.change("a")).error().code, ErrorCode::busy);
  std::jthread reaper([&] { ::waitpid(user.pid(), nullptr, 0); });
  EXPECT_EQ(value(node->release(world.change("a"))).state, LeaseState::ended);
  EXPECT_EQ(node->attach(world.change("a"), {1, 2}).error().code, ErrorCode::not_found);
}

// A process that waits, with that number; 0 where the kernel does not let us choose it.
pid_t fork_as(pid_t wanted) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::ofstream("/proc/sys/kernel/ns_last_pid") << wanted - 1 << std::flush;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close_range(3, ~0U, 0);  // the node's lock is open here
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    if (pid == wanted) return pid;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  return 0;
}

TEST(Lease, AnotherProcessOfTheSameNumberIsNotTakenForTheAttachedOne) {
  if (::geteuid() != 0) GTEST_SKIP() << "control groups need root";
  LeaseWorld world(kOneGpu);
  world.options.confinement_prefix = "partita-test-" + std::to_string(::getpid());
  std::optional<emulator::Child> asked(std::in_place);
  const api::ProcessId id = process_facts(asked->pid()).value().id;
  pid_t stranger = 0;
  world.options.on_event = [&](std::string_view what) {
    if (what != "prepare" || !asked) return;
    asked.reset();  // it ends when it was looked at and is not confined yet
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // start times are told in ticks of 10 ms
    stranger = fork_as(id.pid);
  };
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto node = world.open();
  value(node->lease(world.ask("3g.20gb", "a")));
  auto forged = id;
  ++forged.start_time;
  EXPECT_EQ(node->attach(world.change("a"), forged).error().code, ErrorCode::not_found);
  EXPECT_TRUE(asked) << "nothing is confined for it";
  const auto attached = node->attach(world.change("a"), id);
  EXPECT_FALSE(attached);
  if (stranger == 0) GTEST_SKIP() << "the kernel does not give a number out again when asked";
  ASSERT_NE(process_facts(stranger).value().id, id);
  EXPECT_THAT(world.pins(0), ElementsAre(HasSubstr("lease a"))) << "the stranger uses nothing";
  EXPECT_EQ(value(node->release(world.change("a"))).state, LeaseState::ended);
  EXPECT_TRUE(process_facts(stranger)) << "and does not end with the lease";
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

TEST(LeaseDaemon, QueuesWhatDoesNotFitAndTellsWhen) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  auto big = world.ask("7g.40gb", "big");
  big.duration = std::chrono::hours(1);
  value(daemon->lease(big));
  const api::Lease waits = value(daemon->lease(world.ask("1g.5gb", "small"))).at(0);
  EXPECT_EQ(waits.state, LeaseState::waiting);
  EXPECT_EQ(waits.queue_position, 1);
  ASSERT_TRUE(waits.estimate);
  EXPECT_GE(*waits.estimate, world.clock.time + std::chrono::hours(1));
  EXPECT_THAT(waits.cause, testing::Not(IsEmpty()));
  auto impatient = world.ask("1g.5gb", "now");
  impatient.no_wait = true;
  EXPECT_EQ(daemon->lease(impatient).error().code, ErrorCode::no_space);
  const auto seen = value(daemon->events({})).back().number;
  value(daemon->release(world.change("big")));
  EXPECT_EQ(value(daemon->leases({{}, "small", "", false, 0, 0})).at(0).state, LeaseState::active);
  EXPECT_THAT(value(daemon->events({{}, seen, 10, std::chrono::seconds(5)})), testing::Not(IsEmpty()));
}

TEST(LeaseDaemon, WhoWaitsIsToldOfThoseThatAreInTheWayNow) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  auto first = world.ask("4g.20gb", "first");
  first.duration = std::chrono::hours(1);
  value(daemon->lease(first));
  value(daemon->lease(world.ask("3g.20gb", "second")));
  const api::Lease waits = value(daemon->lease(world.ask("4g.20gb", "late"))).at(0);
  const std::string hour = partita::to_string(world.clock.time + std::chrono::hours(1));
  EXPECT_EQ(waits.cause,
            "4g.20gb does not fit on this node now; releasing lease first (root) (4g.20gb@0 of GPU 0, until " + hour +
                ") makes it fit");
  EXPECT_THAT(waits.cause_details, ElementsAre("GPU 0: in the way 4g.20gb@0 (lease first (root), until " + hour +
                                               "), 3g.20gb@4 (lease second (root), until it is released)"))
      << "each expiry once";
  value(daemon->renew(world.change("first"), std::chrono::hours(5)));
  const std::string later = partita::to_string(world.clock.time + std::chrono::hours(5));
  const auto told = [&] { return value(daemon->leases({{}, "late", "", false, 0, 0})).at(0).cause; };
  for (int i = 0; i < 300 && told().find(later) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the daemon's next look
  EXPECT_THAT(told(), HasSubstr("until " + later));
}

TEST(LeaseDaemon, WhatHasExpiredIsNotChangedBeforeTheNextLook) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {}}}));
  auto daemon = world.open_daemon();
  auto brief = world.ask("3g.20gb", "brief");
  brief.duration = std::chrono::seconds(1);
  value(daemon->lease(brief));
  EXPECT_FALSE(daemon->release(world.change("nobody")));  // it is warned
  world.clock.time += std::chrono::seconds(1);
  const auto resized = daemon->resize(world.change("brief"), world.ask("2g.10gb").requirement);
  ASSERT_FALSE(resized);
  EXPECT_EQ(resized.error().message, "lease brief has expired");
  EXPECT_THAT(value(daemon->leases({})), IsEmpty());
}

TEST(LeaseDaemon, WarnsOfNamesInThePolicyThatNobodyHas) {
  LeaseWorld world(kOneGpu);
  world.options.policy_file = world.root.write("policy.yaml", R"(version: v1
users:
  root: {partitions: 9}
  no-such-user: {partitions: 1}
groups:
  no-such-group: {partitions: 1}
)");
  const std::string file = world.options.policy_file.string();
  const std::string user = file + ":4: this machine knows no user \"no-such-user\"";
  const std::string group = file + ":6: this machine knows no group \"no-such-group\"";
  const auto findings = value(world.open()->doctor()).findings;
  const auto found = std::ranges::find(findings, "names in the policy", &api::Finding::what);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->level, api::Finding::Level::warning);
  EXPECT_EQ(found->found, user + "; " + group);
  EXPECT_THAT(world.open_daemon()->policy_warnings(), ElementsAre(user, group)) << "and it starts";
}

TEST(LeaseDaemon, ReleasesWhenItsHoldersProcessEnds) {
  LeaseWorld world(kOneGpu);
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}}));
  auto daemon = world.open_daemon();
  emulator::Child holder;
  auto request = world.ask("3g.20gb", "a");
  request.holder.kind = api::HolderKind::process;
  request.holder.process = process_facts(holder.pid()).value().id;
  value(daemon->lease(request));
  const auto seen = value(daemon->events({})).back().number;
  holder.end();
  const auto events = value(daemon->events({{}, seen, 10, std::chrono::seconds(10)}));
  ASSERT_THAT(events, testing::Not(IsEmpty()));
  EXPECT_EQ(events[0].kind, "lease.ended");
  EXPECT_THAT(events[0].text, HasSubstr("ended"));
}

TEST(LeaseDaemon, ServesManyThreads) {
  LeaseWorld world("dgx-a100");
  std::map<int, std::vector<std::string>> empty;
  for (int gpu = 0; gpu < 8; ++gpu) empty[gpu] = {};
  world.must_apply(world.exactly(empty));
  auto daemon = world.open_daemon();
  EXPECT_EQ(daemon_socket(world.options), world.root.path() / "socket");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int n = 0; n < 20; ++n) {
        const std::string name = "t" + std::to_string(t);
        auto leases = daemon->lease(world.ask(n % 3 == 0 ? "2g.10gb" : "1g.5gb", name));
        ASSERT_TRUE(leases) << all_of(leases.error());
        EXPECT_EQ(leases->at(0).state, LeaseState::active);
        auto ended = daemon->release(world.change(name));
        ASSERT_TRUE(ended) << all_of(ended.error());
        EXPECT_EQ(ended->state, LeaseState::ended);
      }
    });
  threads.clear();
  EXPECT_THAT(value(daemon->leases({})), IsEmpty());
  api::LeaseQuery ended;
  ended.ended = true;
  EXPECT_THAT(value(daemon->leases(ended)), SizeIs(160));
  daemon.reset();
  EXPECT_THAT(value(world.open()->leases(ended)), SizeIs(160));
  EXPECT_EQ(daemon_socket(world.options), std::nullopt);
}

}  // namespace
}  // namespace partita::node
