#include "deliver/limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>

#include <cmath>
#include <ctime>

#include "base/text.h"
#include "deliver/cgroup.h"
#include "deliver/test_nodes.h"

namespace partita::deliver {
namespace {

using testing::HasSubstr;

class LimitsOfLeases : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make control groups";
    remove_leftover_groups();
    auto opened = Confinement::open(prefix_);
    if (!opened) GTEST_SKIP() << opened.error().message;
    confinement_.emplace(std::move(*opened));
    hierarchies_ = find_hierarchies("/sys/fs/cgroup");
  }
  void TearDown() override {
    if (confinement_)
      remove_groups(prefix_, confinement_->kind().contains("v1") ? CgroupVersion::v1 : CgroupVersion::v2);
  }

  bool lacks(Controller controller) const { return !hierarchies_.place(controller).has_value(); }
  std::filesystem::path group(Controller controller) const {
    return hierarchies_.place(controller)->root / prefix_ / "lease-a";
  }
  int confined(const std::function<int()>& work) {
    TestProcess process(work);
    EXPECT_TRUE(confinement_->add("a", process.pid()));
    return process.run();
  }

  std::string prefix_ = fmt::format("partita-test-{}", ::getpid());
  std::optional<Confinement> confinement_;
  Hierarchies hierarchies_;
};

TEST_F(LimitsOfLeases, ProcessorTime) {
  if (lacks(Controller::cpu)) GTEST_SKIP() << "no cpu controller is mounted";
  const auto prepared = confinement_->prepare("a", {}, Limits{0.25, {}, {}});
  ASSERT_TRUE(prepared) << prepared.error().message;
  const auto use = [] {  // of the processor, in hundredths, while computing for 400 ms
    timespec start{}, now{}, used{};
    ::clock_gettime(CLOCK_MONOTONIC, &start);
    double elapsed = 0;
    do {
      ::clock_gettime(CLOCK_MONOTONIC, &now);
      elapsed =
          static_cast<double>(now.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec);
    } while (elapsed < 0.4);
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<int>(100 * (static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec)) /
                            elapsed);
  };
  EXPECT_LE(confined(use), 45) << "a quarter, and one period's quota on top";
  ASSERT_TRUE(confinement_->prepare("a", {}, {}));
  const std::string text = hierarchies_.place(Controller::cpu)->v2
                               ? read_control(group(Controller::cpu) / "cpu.max")
                               : read_control(group(Controller::cpu) / "cpu.cfs_quota_us");
  EXPECT_TRUE(text.starts_with("max") || text.starts_with("-1")) << text << "the limit is lifted";
}

TEST_F(LimitsOfLeases, Memory) {
  if (lacks(Controller::memory)) GTEST_SKIP() << "no memory controller is mounted";
  const auto take = [](std::size_t bytes) {
    return [bytes] {
      void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      return memory == MAP_FAILED ? 1 : 0;
    };
  };
  const auto prepared = confinement_->prepare("a", {}, Limits{{}, mib(32), {}});
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(confined(take(8u << 20)), 0);
  EXPECT_EQ(confined(take(128u << 20)), -SIGKILL);
  ASSERT_TRUE(confinement_->prepare("a", {}, Limits{{}, mib(256), {}})) << "raised";
  EXPECT_EQ(confined(take(128u << 20)), 0);
  ASSERT_TRUE(confinement_->prepare("a", {}, Limits{{}, mib(64), {}})) << "lowered";
  EXPECT_EQ(confined(take(128u << 20)), -SIGKILL);
  ASSERT_TRUE(confinement_->prepare("a", {}, {}));
  EXPECT_EQ(confined(take(128u << 20)), 0);
}

TEST_F(LimitsOfLeases, Processors) {
  if (lacks(Controller::cpuset)) GTEST_SKIP() << "no cpuset controller is mounted";
  cpu_set_t own;
  ASSERT_EQ(::sched_getaffinity(0, sizeof own, &own), 0);
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &own)) last = i;
  const auto processors = [] {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set);
  };
  const auto prepared = confinement_->prepare("a", {}, Limits{{}, {}, {last}});
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(confined(processors), 1);
  ASSERT_TRUE(confinement_->prepare("a", {}, {}));
  EXPECT_EQ(confined(processors), CPU_COUNT(&own));

  const auto absent = confinement_->prepare("b", {}, Limits{{}, {}, {4000}});
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, HasSubstr("lease b: cannot hold programs to the processors 4000: cannot write"));
  EXPECT_THAT(confinement_->leases(), testing::ElementsAre("a")) << "nothing of b is left";
}

TEST_F(LimitsOfLeases, OneThatCannotBeEnforcedIsAnError) {
  const auto no_controllers = set_limits({}, prefix_, "lease-a", Limits{2, {}, {}});
  ASSERT_FALSE(no_controllers);
  EXPECT_EQ(no_controllers.error().code, ErrorCode::unavailable);
  EXPECT_EQ(no_controllers.error().message,
            "cannot hold programs to 2 processors: no cpu controller is mounted; leave this limit out, or mount the "
            "controller");
}

// What is written where cpu, memory and cpuset are in v2, into plain files in the place of the kernel's.
TEST(Limits, WordsOfV2) {
  const TestFolder folder;
  for (const char* file :
       {"cgroup.subtree_control", "partita/cgroup.subtree_control", "partita/lease-a/cpu.max",
        "partita/lease-a/memory.max", "partita/lease-a/memory.swap.max", "partita/lease-a/cpuset.cpus"})
    folder.write(file, "");
  Hierarchies hierarchies;
  hierarchies.controllers.fill(ControllerPlace{folder.path(), true});
  const auto set = set_limits(hierarchies, "partita", "lease-a", Limits{1.5, gib(2), {0, 2, 3}});
  ASSERT_TRUE(set) << set.error().message;
  const auto text = [&](const char* file) { return read_control(folder.path() / "partita/lease-a" / file); };
  EXPECT_EQ(text("cpu.max"), "150000 100000");
  EXPECT_EQ(text("memory.max"), "2147483648");
  EXPECT_EQ(text("memory.swap.max"), "0");
  EXPECT_EQ(text("cpuset.cpus"), "0,2,3");
  EXPECT_EQ(read_control(folder.path() / "partita/cgroup.subtree_control"), "+cpuset") << "the last of three writes";
  for (const char* file : {"cpu.max", "memory.max", "memory.swap.max", "cpuset.cpus"})
    folder.write(std::string("partita/lease-a/") + file, "");
  ASSERT_TRUE(set_limits(hierarchies, "partita", "lease-a", {}));
  EXPECT_EQ(text("cpu.max"), "max 100000");
  EXPECT_EQ(text("memory.max"), "max");
  EXPECT_EQ(text("memory.swap.max"), "max");
  EXPECT_EQ(text("cpuset.cpus"), "\n");
}

TEST(Limits, BadOnesAreRefused) {
  EXPECT_EQ(check_limits(Limits{0.0, {}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(check_limits(Limits{-1.0, {}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(check_limits(Limits{std::nan(""), {}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(check_limits(Limits{{}, Bytes{0}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(check_limits(Limits{{}, {}, {-1}}).error().code, ErrorCode::invalid);
  EXPECT_TRUE(check_limits(Limits{0.5, gib(2), {0, 1}}));
}

}  // namespace
}  // namespace partita::deliver
