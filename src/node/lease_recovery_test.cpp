// What leases and the processes that use them meet when the daemon or the driver starts again.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "deliver/confine.h"
#include "node/lease_test_support.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using api::LeaseState;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kTwoGpus = "gpus: [{board: a100-sxm4-40gb, count: 2}]\n";

// A process that opens what it is told.
class Prober {
 public:
  Prober() {
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_) != 0) throw std::runtime_error("socketpair");
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::array<char, 4096> path{};
    for (ssize_t size = 0; (size = ::read(ends_[1], path.data(), path.size() - 1)) > 0;) {
      path.at(static_cast<std::size_t>(size)) = '\0';
      const int fd = ::open(path.data(), O_RDWR | O_CLOEXEC);
      const int answer = fd < 0 ? errno : 0;
      if (fd >= 0) ::close(fd);
      (void)!::write(ends_[1], &answer, sizeof answer);
    }
    ::_exit(0);
  }
  ~Prober() {
    ::kill(pid_, SIGKILL);
    if (!reaper_.joinable()) ::waitpid(pid_, nullptr, 0);
    for (const int end : ends_) ::close(end);
  }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  api::ProcessId id() const { return process_facts(pid_).value().id; }
  pid_t pid() const { return pid_; }
  // The errno of opening a node of this world; 0: it is open.
  int open(const LeaseWorld& world, const std::string& node) const {
    const auto path = (world.options.driver.device_root / std::filesystem::path(node).relative_path()).string();
    int answer = -1;
    (void)!::write(ends_[0], path.data(), path.size());
    (void)!::read(ends_[0], &answer, sizeof answer);
    return answer;
  }
  // Its end is noticed by its parent, which is this process.
  void reap() {
    reaper_ = std::jthread([pid = pid_] { ::waitpid(pid, nullptr, 0); });
  }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
  std::jthread reaper_;
};

// The capability node of a lease's only compute instance.
std::string node_of(const api::Lease& lease) { return lease.grant.value().nodes.back().path; }

// What a daemon of its own does in a process that is killed afterwards.
void killed(const std::function<void()>& work) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    (void)!::write(ends[1], "x", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1) << "it ended by itself";
  ::close(ends[0]);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// What a daemon does in a process that comes to its end by SIGKILL somewhere in it.
void dies(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it lived on";
}

// The driver is unloaded and loaded again within one boot: all instances go.
void reload_driver(const LeaseWorld& world) { value(emulator::reload_driver(world.emulated.name)); }

class LeaseRecovery : public testing::Test {
 protected:
  // "" where control groups can be made.
  static std::string unusable(LeaseWorld& world) {
    if (::geteuid() != 0) return "control groups need root";
    world.options.confinement_prefix = "partita-test-" + std::to_string(::getpid());
    auto opened = deliver::Confinement::open(world.options.confinement_prefix);
    return opened ? "" : opened.error().message;
  }
  static void expect_ends(DaemonNode& daemon, const std::string& name) {
    const auto seen = value(daemon.events({})).back().number;
    if (value(daemon.release(LeaseWorld::change(name))).state == LeaseState::ended) return;
    for (std::int64_t after = seen;;) {
      const auto events = value(daemon.events({{}, after, 10, std::chrono::seconds(10)}));
      ASSERT_FALSE(events.empty()) << name << " does not end";
      for (const api::Event& event : events)
        if (event.kind == "lease.ended" && event.lease == name) return;
      after = events.back().number;
    }
  }
};

TEST_F(LeaseRecovery, DevicesAreToldAsBeforeAfterARestart) {
  LeaseWorld world(kTwoGpus);
  world.must_apply(world.exactly({{0, {"3g.20gb@0", "3g.20gb@4"}}, {1, {}}}));
  std::vector<api::Lease> before;
  {
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("3g.20gb", "a")));
    value(daemon->lease(world.ask("3g.20gb", "b")));
    before = value(daemon->leases({}));
  }
  const auto expect_same = [&](const std::vector<api::Lease>& now, std::string_view where) {
    ASSERT_THAT(now, SizeIs(2)) << where;
    for (std::size_t i = 0; i < now.size(); ++i) {
      ASSERT_TRUE(now[i].grant) << where;
      const api::GrantedDevice& device = now[i].grant->devices.at(0);
      EXPECT_EQ(device.index, before[i].grant->devices.at(0).index) << where;
      EXPECT_THAT(device.index, HasSubstr("0:")) << where;
      EXPECT_EQ(device.uuid, before[i].grant->devices.at(0).uuid) << where;
    }
  };
  expect_same(value(world.open()->leases({})), "without a daemon");
  expect_same(value(world.open_daemon()->leases({})), "after an orderly end");
  killed([&] { (void)world.open_daemon().release(); });
  expect_same(value(world.open_daemon()->leases({})), "after kill -9");
}

TEST_F(LeaseRecovery, LeasesAreCutAgainAfterAReloadOfTheDriverAlone) {
  for (const bool daemon : {false, true}) {
    LeaseWorld world(kTwoGpus);
    world.must_apply(world.exactly({{0, {"3g.20gb@4"}}, {1, {}}}));
    const api::Lease a = value(world.open()->lease(world.ask("3g.20gb", "a"))).at(0);
    const api::Lease b = value(world.open()->lease(world.ask("2g.10gb", "b"))).at(0);
    reload_driver(world);
    std::vector<api::Lease> now;
    if (daemon) {
      auto node = world.open_daemon();
      now = value(node->leases({}));
    } else {
      auto node = world.open();
      EXPECT_FALSE(node->release(world.change("nobody")));
      now = value(node->leases({}));
    }
    ASSERT_THAT(now, SizeIs(2)) << daemon;
    for (const api::Lease& lease : now) {
      const api::Lease& was = lease.name == "a" ? a : b;
      EXPECT_EQ(lease.state, LeaseState::active) << lease.cause;
      EXPECT_TRUE(lease.recut);
      ASSERT_TRUE(lease.grant);
      EXPECT_EQ(lease.grant->devices.at(0).gpu, was.grant->devices.at(0).gpu);
      EXPECT_EQ(lease.grant->devices.at(0).start, was.grant->devices.at(0).start);
      EXPECT_EQ(lease.grant->devices.at(0).uuid, was.grant->devices.at(0).uuid);
    }
    EXPECT_THAT(world.pins(0), Contains("lease a (root)"));
  }
}

// Those of one request that waited, cut and not yet handed over when the daemon died: afterwards each is one by itself.
TEST_F(LeaseRecovery, WhatIsAskedOfOneOfSeveralLeavesTheOthersAlone) {
  LeaseWorld world("gpus: [{board: a100-sxm4-40gb, count: 1}]\n");
  world.must_apply(world.exactly({{0, {}}}));
  dies([&] {
    bool armed = false;
    world.options.on_event = [&](std::string_view what) {
      if (armed && what == "cut") ::raise(SIGKILL);
    };
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("7g.40gb", "whole")));
    auto request = world.ask("2g.10gb", "many");
    request.count = 2;
    EXPECT_EQ(value(daemon->lease(request)).at(0).state, LeaseState::waiting);
    armed = true;
    (void)daemon->release(world.change("whole"));
  });
  const std::vector<std::string> expected = {"many-1 active", "many-2 active"};
  const auto drawn = [](const std::vector<api::Lease>& leases) {
    std::vector<std::string> lines;
    for (const api::Lease& lease : leases) lines.push_back(lease.name + " " + std::string(to_string(lease.state)));
    return lines;
  };
  {
    auto daemon = world.open_daemon();
    EXPECT_EQ(drawn(value(daemon->leases({}))), expected);
    api::Requirement whole;
    whole.profile = "7g.40gb";
    EXPECT_FALSE(daemon->resize(world.change("many-1"), whole));
    EXPECT_EQ(drawn(value(daemon->leases({}))), expected);
    value(daemon->lease(world.ask("3g.20gb", "another")));
  }
  auto daemon = world.open_daemon();
  EXPECT_THAT(value(daemon->leases({})), SizeIs(3));
}

// Nothing happened to them.
TEST_F(LeaseRecovery, ARestartIsNoEventOfItsLeases) {
  LeaseWorld world(kTwoGpus);
  world.must_apply(world.exactly({{0, {}}, {1, {}}}));
  dies([&] {
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("3g.20gb", "a")));
    value(daemon->lease(world.ask("1g.5gb", "b")));
    ::raise(SIGKILL);
  });
  auto daemon = world.open_daemon();
  std::vector<std::string> kinds;
  for (const api::Event& event : value(daemon->events({}))) kinds.push_back(event.kind);
  EXPECT_EQ(kinds, (std::vector<std::string>{"layout.changed", "lease.active", "lease.active"}));
}

// An apply is the first to be asked after the driver was loaded again.
TEST_F(LeaseRecovery, AnApplyNoticesAnotherLoadOfTheDriver) {
  LeaseWorld world(kTwoGpus);
  world.must_apply(world.exactly({{0, {}}, {1, {"7g.40gb@0"}}}));
  auto daemon = world.open_daemon();
  value(daemon->lease(world.ask("3g.20gb", "a")));
  reload_driver(world);
  Recorder recorder;
  value(daemon->apply(world.exactly({{1, {"2g.10gb@0"}}}), recorder));
  const layout::NodeState state = value(daemon->status()).state;
  EXPECT_EQ(draw(state.gpus.at(0)), "on 3g.20gb@4*");
  EXPECT_EQ(draw(state.gpus.at(1)), "on 2g.10gb@0") << "it is ours";
}

TEST_F(LeaseRecovery, ProcessesStayConfinedAndPinnedWhenTheDaemonStartsAgain) {
  LeaseWorld world(kTwoGpus);
  if (const auto why = unusable(world); !why.empty()) GTEST_SKIP() << why;
  world.must_apply(world.exactly({{0, {"3g.20gb@0", "3g.20gb@4"}}}));
  Prober prober;
  killed([&] {
    auto daemon = world.open_daemon();
    value(daemon->lease(world.ask("3g.20gb", "a")));
    value(daemon->lease(world.ask("3g.20gb", "b")));
    value(daemon->attach(world.change("a"), prober.id()));
    (void)daemon.release();  // it has no time to end in order
  });
  auto daemon = world.open_daemon();
  const auto leases = value(daemon->leases({}));
  ASSERT_THAT(leases, SizeIs(2));
  EXPECT_EQ(leases[0].state, LeaseState::active) << leases[0].cause;
  EXPECT_NE(prober.open(world, node_of(leases[0])), EPERM) << "its own";
  EXPECT_EQ(prober.open(world, node_of(leases[1])), EPERM) << "another's";
  EXPECT_THAT(world.pins(0), Contains(HasSubstr("pid " + std::to_string(prober.pid()))));
  EXPECT_EQ(daemon->park(world.change("a")).error().code, ErrorCode::busy);
  Recorder recorder;
  EXPECT_EQ(daemon->apply(world.cut("[0]", R"("1g.5gb": 7)"), recorder).error().code, ErrorCode::busy);
  prober.reap();
  expect_ends(*daemon, "a");
}

TEST_F(LeaseRecovery, AMovedLeaseTakesItsProcessesAlong) {
  LeaseWorld world(kTwoGpus);
  if (const auto why = unusable(world); !why.empty()) GTEST_SKIP() << why;
  world.options.register_process = {};  // it uses nothing now, or the driver could not be unloaded
  world.must_apply(world.exactly({{0, {"3g.20gb@4"}}, {1, {}}}));
  Prober prober;
  const api::Lease before = value(world.open()->lease(world.ask("3g.20gb", "a"))).at(0);
  value(world.open()->attach(world.change("a"), prober.id()));
  reload_driver(world);
  world.make_foreign(0, "3g.20gb@4");  // someone else was first
  auto daemon = world.open_daemon();
  const api::Lease after = value(daemon->leases({{}, "a", "", true, 0, 0})).at(0);
  ASSERT_EQ(after.state, LeaseState::active) << after.cause << ": " << join(after.cause_details, ", ");
  ASSERT_NE(node_of(after), node_of(before));
  EXPECT_NE(prober.open(world, node_of(after)), EPERM) << "what it has now";
  EXPECT_EQ(prober.open(world, node_of(before)), EPERM) << "what is someone else's now";
  prober.reap();
  expect_ends(*daemon, "a");
}

}  // namespace
}  // namespace partita::node
