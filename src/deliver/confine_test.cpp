#include "deliver/confine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/prctl.h>

#include <array>
#include <fstream>
#include <map>
#include <thread>

#include "base/process.h"
#include "deliver/test_nodes.h"

namespace partita::deliver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const Filter kGpu0Instance7{{kNvidiaMajor, kCapsMajor},
                            {{kNvidiaMajor, 0}, {kNvidiaMajor, 255}, {kCapsMajor, 66}, {kCapsMajor, 67}}};

class Confine : public testing::TestWithParam<CgroupVersion> {
 protected:
  void SetUp() override {
    if (const std::string why = nodes_.unusable(); !why.empty()) GTEST_SKIP() << why;
    remove_leftover_groups();
    auto opened = Confinement::open(prefix_, "/sys/fs/cgroup", GetParam());
    if (!opened) GTEST_SKIP() << opened.error().message << ": " << testing::PrintToString(opened.error().details);
    confinement_.emplace(std::move(*opened));
  }
  void TearDown() override {
    if (confinement_) remove_groups(prefix_, GetParam());
  }

  void prepare(const std::string& lease, const Filter& filter = kGpu0Instance7, const Limits& limits = {}) {
    const auto prepared = confinement_->prepare(lease, filter, limits);
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  // What `work` returns when it runs confined.
  int confined(const std::string& lease, const std::function<int()>& work) {
    TestProcess process(work);
    const auto added = confinement_->add(lease, process.pid());
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return process.run();
  }
  // Waits, at most 5 s, until the group is empty.
  bool empties(const std::string& lease) {
    for (int attempt = 0; attempt < 5000; ++attempt) {
      if (confinement_->processes(lease).value().empty()) return true;
      ::usleep(1000);
    }
    return false;
  }

  TestNodes nodes_;
  std::string prefix_ = fmt::format("partita-test-{}", ::getpid());
  std::optional<Confinement> confinement_;
};

INSTANTIATE_TEST_SUITE_P(Cgroup, Confine, testing::Values(CgroupVersion::v1, CgroupVersion::v2),
                         [](const auto& tested) { return tested.param == CgroupVersion::v1 ? "v1" : "v2"; });

TEST_P(Confine, OwnNodesOpenOthersDoNotEvenForRoot) {
  prepare("a");
  const std::string own = nodes_.make(kCapsMajor, 66), other = nodes_.make(kCapsMajor, 75),
                    gpu = nodes_.make(kNvidiaMajor, 0), other_gpu = nodes_.make(kNvidiaMajor, 1),
                    control = nodes_.make(kNvidiaMajor, 255), unguarded = nodes_.make(237, 75);
  const auto verdict = [&](const std::string& path, int flags = O_RDWR) {
    return confined("a", [&] { return TestNodes::open_error(path, flags); });
  };
  EXPECT_EQ(verdict(own), ENXIO);
  EXPECT_EQ(verdict(own, O_RDONLY), ENXIO);
  EXPECT_EQ(verdict(gpu), ENXIO);
  EXPECT_EQ(verdict(control), ENXIO);
  EXPECT_EQ(verdict(other), EPERM);
  EXPECT_EQ(verdict(other, O_RDONLY), EPERM);
  EXPECT_EQ(verdict(other, O_WRONLY), EPERM);
  EXPECT_EQ(verdict(other_gpu), EPERM);
  EXPECT_EQ(verdict(unguarded), ENXIO) << "other devices stay as they are outside";
  EXPECT_EQ(verdict("/dev/null"), 0);
  EXPECT_EQ(TestNodes::open_error(other, O_RDWR), ENXIO) << "nobody outside the lease is touched";
}

TEST_P(Confine, GuardedNodesCannotBeMadeInside) {
  prepare("a");
  const auto making = [&](int major, int minor) {
    const auto path = nodes_.path() / fmt::format("made-{}-{}", major, minor);
    return confined("a", [&] {
      const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
      return ::mknod(path.c_str(), S_IFCHR | 0600, device) == 0 ? 0 : errno;
    });
  };
  EXPECT_EQ(making(kCapsMajor, 75), EPERM);
  EXPECT_EQ(making(kCapsMajor, 66), EPERM);
  EXPECT_EQ(making(237, 1), 0);
}

// Forks, starts a session, forks again, and executes another program: still confined. Each level exits with the verdict
// of its child.
TEST_P(Confine, NoWayOfStartingAProcessLeadsOut) {
  prepare("a");
  const std::string other = nodes_.make(kCapsMajor, 75), own = nodes_.make(kCapsMajor, 66);
  const auto far_child = [](const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setsid();
      const pid_t grandchild = ::fork();
      if (grandchild == 0) {
        // 1: denied by the filter; 2: allowed, and no such device
        const std::string script = fmt::format(
            "said=$(sh -c ': <{}' 2>&1); case $said in *'not permitted') exit 1 ;; *'No such device or address') exit "
            "2 "
            ";; esac; exit 3",
            path);
        ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
        ::_exit(4);
      }
      int status = 0;
      ::waitpid(grandchild, &status, 0);
      ::_exit(WEXITSTATUS(status));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(confined("a", [&] { return far_child(other); }), 1);
  EXPECT_EQ(confined("a", [&] { return far_child(own); }), 2);
}

TEST_P(Confine, OrphansThatOutliveTheirParentsStayInTheGroup) {
  prepare("a");
  EXPECT_EQ(confined("a",
                     [] {
                       if (::fork() == 0) {
                         ::setsid();
                         if (::fork() == 0)
                           for (;;) ::pause();
                         ::_exit(0);
                       }
                       ::wait(nullptr);
                       return 0;
                     }),
            0);
  const auto left = confinement_->processes("a");
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(process_name(left->front()), "deliver_test");
  ASSERT_TRUE(confinement_->signal("a", SIGTERM));
  EXPECT_TRUE(empties("a"));
}

// The whole of a DGX A100 cut into 8 x 7: each holder opens its own nodes and none of the other 55, all as root, so
// that nothing but the filter stands between them.
TEST_P(Confine, FiftySixHoldersEachPair) {
  struct Place {
    int gpu, gi;
  };
  std::vector<Place> places;
  for (int gpu = 0; gpu < 8; ++gpu)
    for (int gi = 7; gi < 14; ++gi) places.push_back({gpu, gi});
  std::vector<std::string> instance_nodes, compute_nodes, gpu_nodes;
  for (int gpu = 0; gpu < 8; ++gpu) gpu_nodes.push_back(nodes_.make(kNvidiaMajor, gpu));
  for (const auto& [gpu, gi] : places) {
    instance_nodes.push_back(nodes_.make(kCapsMajor, instance_minor(gpu, gi)));
    compute_nodes.push_back(nodes_.make(kCapsMajor, compute_minor(gpu, gi)));
    prepare(fmt::format("h{}", instance_nodes.size() - 1), Filter{{kNvidiaMajor, kCapsMajor},
                                                                  {{kNvidiaMajor, gpu},
                                                                   {kNvidiaMajor, 255},
                                                                   {kCapsMajor, instance_minor(gpu, gi)},
                                                                   {kCapsMajor, compute_minor(gpu, gi)}}});
  }
  const std::string results = nodes_.path() / "results";
  for (std::size_t holder = 0; holder < places.size(); ++holder) {
    const auto wrong = [&] {
      int count = 0;
      for (std::size_t other = 0; other < places.size(); ++other) {
        const int expected = other == holder ? ENXIO : EPERM;
        count += TestNodes::open_error(instance_nodes[other], O_RDONLY) != expected;
        count += TestNodes::open_error(compute_nodes[other], O_RDWR) != expected;
      }
      for (int gpu = 0; gpu < 8; ++gpu)
        count += TestNodes::open_error(gpu_nodes[static_cast<std::size_t>(gpu)], O_RDWR) !=
                 (gpu == places[holder].gpu ? ENXIO : EPERM);
      return count;
    };
    EXPECT_EQ(confined(fmt::format("h{}", holder), wrong), 0) << "holder " << holder;
  }
  EXPECT_EQ(confinement_->leases().size(), 56u);
}

TEST_P(Confine, PreparedAgainTheFilterIsTheNewOne) {
  prepare("a");
  const std::string first = nodes_.make(kCapsMajor, 66), second = nodes_.make(kCapsMajor, 75);
  prepare("a", Filter{{kNvidiaMajor, kCapsMajor}, {{kCapsMajor, 75}}});
  const auto verdicts = [&] {
    return confined("a", [&] {
      return TestNodes::open_error(first, O_RDONLY) == EPERM && TestNodes::open_error(second, O_RDONLY) == ENXIO ? 0
                                                                                                                 : 1;
    });
  };
  EXPECT_EQ(verdicts(), 0);
  for (int again = 0; again < 70; ++again) prepare("a", Filter{{kNvidiaMajor, kCapsMajor}, {{kCapsMajor, 75}}});
  EXPECT_EQ(verdicts(), 0) << "former filters do not pile up (the kernel takes 64)";
}

// What a process sees after another daemon took over: it is the kernel that keeps the filter.
TEST_P(Confine, TheFilterOutlivesItsMaker) {
  const std::string other = nodes_.make(kCapsMajor, 75);
  TestProcess maker([&] {
    auto own = Confinement::open(prefix_, "/sys/fs/cgroup", GetParam());
    return own && own->prepare("a", kGpu0Instance7, {}) ? 0 : 1;
  });
  ASSERT_EQ(maker.run(), 0);
  EXPECT_THAT(confinement_->leases(), ElementsAre("a"));
  EXPECT_EQ(confined("a", [&] { return TestNodes::open_error(other, O_RDONLY); }), EPERM);
}

// SIGKILL by the kernel itself where it can; SIGTERM always by freezing.
TEST_P(Confine, OneCallReachesAForkBomb) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    prepare("bomb");
    TestProcess bomb([] {
      for (int i = 0; i < 200; ++i)  // bounded in breadth; each process is replaced as soon as it ends
        if (::fork() == 0)
          for (;;) {
            if (::fork() != 0) ::_exit(0);
            ::setsid();
          }
      for (;;) ::pause();
      return 0;
    });
    ASSERT_TRUE(confinement_->add("bomb", bomb.pid()));
    bomb.go();
    ::usleep(50'000);
    ASSERT_FALSE(confinement_->processes("bomb")->empty());
    ASSERT_TRUE(confinement_->signal("bomb", signal));
    EXPECT_EQ(bomb.wait(), -signal);
    EXPECT_TRUE(empties("bomb"));
    const auto dissolved = confinement_->dissolve("bomb");
    EXPECT_TRUE(dissolved) << dissolved.error().message;
  }
}

TEST_P(Confine, TermReachesStoppedProcesses) {
  prepare("a");
  TestProcess stopped([] {
    ::raise(SIGSTOP);
    for (;;) ::pause();
    return 0;
  });
  ASSERT_TRUE(confinement_->add("a", stopped.pid()));
  stopped.go();
  int status = 0;
  ASSERT_EQ(::waitpid(stopped.pid(), &status, WUNTRACED), stopped.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ASSERT_TRUE(confinement_->signal("a", SIGTERM));
  EXPECT_EQ(stopped.wait(), -SIGTERM);
}

TEST_P(Confine, DissolvedOnlyWhenEmptyAndNamesWhoIsThere) {
  prepare("a");
  TestProcess process([] {
    for (;;) ::pause();
    return 0;
  });
  ASSERT_TRUE(confinement_->add("a", process.pid()));
  process.go();
  const auto busy = confinement_->dissolve("a");
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::busy);
  EXPECT_EQ(busy.error().message, fmt::format("lease a still has 1 process: {} (deliver_test)", process.pid()));
  ASSERT_TRUE(confinement_->signal("a", SIGKILL));
  EXPECT_EQ(process.wait(), -SIGKILL);
  EXPECT_TRUE(confinement_->dissolve("a"));
  EXPECT_THAT(confinement_->leases(), IsEmpty());
  EXPECT_TRUE(confinement_->dissolve("a")) << "again: nothing to do";
  EXPECT_THAT(confinement_->processes("a").value(), IsEmpty());
  EXPECT_TRUE(confinement_->signal("a", SIGKILL));
}

// A command that ends the lease which it was started in: frozen or ended with it, it would not finish.
TEST_P(Confine, WhoEndsTheLeaseThatItIsInEndsItAndGoesOn) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    prepare("a");
    TestProcess other([] {
      for (;;) ::pause();
      return 0;
    });
    TestProcess ender([&] {
      auto own = Confinement::open(prefix_, "/sys/fs/cgroup", GetParam());
      if (!own) return 1;
      if (own->processes("a").value() != std::vector<pid_t>{other.pid()}) return 2;
      if (!own->signal("a", signal)) return 3;
      for (int attempt = 0; attempt < 5000 && !own->dissolve("a"); ++attempt) ::usleep(1000);
      return own->leases().empty() ? 0 : 4;
    });
    for (const TestProcess* process : {&other, &ender}) ASSERT_TRUE(confinement_->add("a", process->pid()));
    other.go();
    ender.go();
    std::jthread reaper([&] { EXPECT_EQ(other.wait(), -signal); });
    const int ended = ender.wait();
    EXPECT_EQ(ended, 0);
    if (ended != 0) ::kill(other.pid(), SIGKILL);
  }
}

TEST_P(Confine, NothingIsLeftWhenTheLastLeaseEnds) {
  prepare("a", kGpu0Instance7, {});
  prepare("b", kGpu0Instance7, {});
  ASSERT_TRUE(confinement_->dissolve("a"));
  EXPECT_THAT(confinement_->leases(), ElementsAre("b"));
  ASSERT_TRUE(confinement_->dissolve("b"));
  for (const char* root :
       {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/devices", "/sys/fs/cgroup/freezer"})
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(root) / prefix_)) << root;
}

// The last lease that goes removes the groups' parent, while another comes.
TEST_P(Confine, LeasesComeAndGoSideBySide) {
  std::vector<std::jthread> threads;
  std::array<int, 4> failed{};
  for (std::size_t i = 0; i < failed.size(); ++i)
    threads.emplace_back([&, i] {
      const std::string lease = fmt::format("t{}", i);
      for (int round = 0; round < 20; ++round) {
        failed[i] += !confinement_->prepare(lease, kGpu0Instance7, {});
        failed[i] += !confinement_->dissolve(lease);
      }
    });
  threads.clear();
  EXPECT_THAT(failed, testing::Each(0));
  EXPECT_THAT(confinement_->leases(), IsEmpty());
}

// A frozen group is what a daemon leaves that was killed while it signalled.
TEST_P(Confine, AFrozenGroupIsThawedByTheNextStart) {
  prepare("a");
  TestProcess process([] { return 7; });
  ASSERT_TRUE(confinement_->add("a", process.pid()));
  bool frozen = false;
  for (const auto& [file, word] :
       std::map<std::string, std::string>{{"/sys/fs/cgroup/unified/" + prefix_ + "/lease-a/cgroup.freeze", "1"},
                                          {"/sys/fs/cgroup/" + prefix_ + "/lease-a/cgroup.freeze", "1"},
                                          {"/sys/fs/cgroup/freezer/" + prefix_ + "/lease-a/freezer.state", "FROZEN"}})
    frozen = static_cast<bool>(std::ofstream(file) << word << std::flush) || frozen;
  ASSERT_TRUE(frozen);
  process.go();
  ::usleep(20'000);
  EXPECT_EQ(::waitpid(process.pid(), nullptr, WNOHANG), 0) << "it waits";
  prepare("a");
  EXPECT_EQ(process.wait(), 7);
}

TEST_P(Confine, BadNamesAndProcesses) {
  for (const char* name : {"", "..", "a/b", "../x", "a b", ".hidden"}) {
    const auto refused = confinement_->prepare(name, kGpu0Instance7, {});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid);
  }
  EXPECT_EQ(confinement_->add("absent", ::getpid()).error().message,
            "lease absent has no control group; prepare it first");
  prepare("tasks");  // as a file of the kernel
  EXPECT_THAT(confinement_->leases(), ElementsAre("tasks"));
  TestProcess gone([] { return 0; });
  ASSERT_EQ(gone.run(), 0);
  const auto absent = confinement_->add("tasks", gone.pid());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::not_found);
}

TEST_P(Confine, Kind) {
  EXPECT_EQ(confinement_->kind(), GetParam() == CgroupVersion::v1 ? "cgroup v1 devices" : "cgroup v2 BPF");
}

TEST(ConfineOpen, SaysWhatIsMissing) {
  const TestFolder empty;
  const auto none = Confinement::open("partita", empty.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unavailable);
  EXPECT_THAT(none.error().details, ElementsAre("cgroup v2: not mounted", "cgroup v1 devices: not mounted"));
}

TEST(ConfineOpen, WithoutRootSaysWhoCan) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  TestProcess user([] {
    become(12345);
    const auto refused = Confinement::open("partita");
    if (refused || refused.error().code != ErrorCode::unavailable) return 1;
    return refused.error().message.contains("only root can") ? 0 : 2;
  });
  EXPECT_EQ(user.run(), 0);
}

}  // namespace
}  // namespace partita::deliver
