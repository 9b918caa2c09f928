// A daemon whose own group was delegated to it, as systemd does for a service with Delegate=yes, on cgroup v2.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/text.h"
#include "deliver/cgroup.h"
#include "deliver/confine.h"
#include "deliver/delegation.h"
#include "deliver/hierarchies.h"
#include "deliver/test_nodes.h"

namespace partita::deliver {
namespace {

namespace fs = std::filesystem;

class InAService : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = nodes_.unusable(); !why.empty()) GTEST_SKIP() << why;
    remove_leftover_groups();
    const Hierarchies hierarchies = find_hierarchies("/sys/fs/cgroup");
    if (!hierarchies.unified) GTEST_SKIP() << "cgroup v2 is not mounted";
    unified_ = *hierarchies.unified;
    service_ = unified_ / name_;
    ASSERT_TRUE(make_group(unified_, name_, "partita.service"));
    service_ /= "partita.service";
  }
  void TearDown() override {
    if (unified_.empty()) return;
    write_control(unified_ / name_ / "cgroup.kill", "1");
    EXPECT_TRUE(remove_group(unified_ / name_));
    if (!enabled_here_.empty()) write_control(unified_ / "cgroup.subtree_control", "-" + enabled_here_);
  }

  // Some controller that the service's group has; "" where v2 has none.
  std::string delegate_a_controller() {
    const std::string controller = split(trim(read_control(unified_ / "cgroup.controllers")), ' ').front();
    if (controller.empty()) return "";
    if (!read_control(unified_ / "cgroup.subtree_control").contains(controller)) enabled_here_ = controller;
    EXPECT_EQ(write_control(unified_ / "cgroup.subtree_control", "+" + controller), 0);
    EXPECT_EQ(write_control(unified_ / name_ / "cgroup.subtree_control", "+" + controller), 0);
    return controller;
  }

  TestNodes nodes_;
  std::string name_ = fmt::format("partita-test-{}", ::getpid());
  fs::path unified_, service_;
  std::string enabled_here_;
};

TEST_F(InAService, LeasesLiveBesideTheServiceAndOutliveIt) {
  const std::string prefix = name_ + "-leases";
  const std::string other = nodes_.make(kCapsMajor, 75);
  TestProcess program([&] { return TestNodes::open_error(other, O_RDONLY); });
  TestProcess daemon([&] {
    auto confinement = Confinement::open(prefix, "/sys/fs/cgroup", CgroupVersion::v2);
    return confinement && confinement->prepare("a", Filter{{kCapsMajor}, {}}, {}) &&
                   confinement->add("a", program.pid())
               ? 0
               : 1;
  });
  ASSERT_EQ(write_control(service_ / "cgroup.procs", std::to_string(daemon.pid())), 0);
  ASSERT_EQ(write_control(service_ / "cgroup.procs", std::to_string(program.pid())), 0);
  EXPECT_EQ(daemon.run(), 0);
  std::set<pid_t> in_service;
  collect_processes(service_, in_service);
  EXPECT_TRUE(in_service.empty()) << "a stop of the service would end no lease";
  EXPECT_EQ(program.run(), EPERM);
  remove_groups(prefix, CgroupVersion::v2);
}

TEST_F(InAService, InsideADelegatedGroup) {
  const std::string other = nodes_.make(kCapsMajor, 75), own = nodes_.make(kCapsMajor, 66);
  auto confinement = Confinement::open("leases", service_);
  ASSERT_TRUE(confinement) << confinement.error().message;
  EXPECT_EQ(confinement->kind(), "cgroup v2 BPF");
  ASSERT_TRUE(confinement->prepare("a", Filter{{kCapsMajor}, {{kCapsMajor, 66}}}, {}));
  EXPECT_TRUE(fs::exists(service_ / "leases/lease-a"));
  TestProcess program([&] {
    return TestNodes::open_error(other, O_RDONLY) == EPERM && TestNodes::open_error(own, O_RDONLY) == ENXIO ? 0 : 1;
  });
  ASSERT_TRUE(confinement->add("a", program.pid()));
  EXPECT_EQ(program.run(), 0);
  EXPECT_TRUE(confinement->dissolve("a"));
  EXPECT_FALSE(fs::exists(service_ / "leases"));
}

// A filter of a group above, as systemd's DevicePolicy= or a container's, holds, too: both must agree.
TEST_F(InAService, FiltersAboveHold) {
  const std::string own = nodes_.make(kCapsMajor, 66), other = nodes_.make(kCapsMajor, 75);
  auto outer = Confinement::open(name_, unified_);
  ASSERT_TRUE(outer);
  ASSERT_TRUE(outer->prepare("outer", Filter{{kCapsMajor}, {{kCapsMajor, 75}}}, {}));
  auto inner = Confinement::open("leases", unified_ / name_ / "lease-outer");
  ASSERT_TRUE(inner) << inner.error().message;
  ASSERT_TRUE(inner->prepare("a", Filter{{kCapsMajor}, {{kCapsMajor, 66}, {kCapsMajor, 75}}}, {}));
  TestProcess program([&] {
    return TestNodes::open_error(own, O_RDONLY) == EPERM && TestNodes::open_error(other, O_RDONLY) == ENXIO ? 0 : 1;
  });
  ASSERT_TRUE(inner->add("a", program.pid()));
  EXPECT_EQ(program.run(), 0);
  EXPECT_TRUE(inner->dissolve("a"));
}

TEST_F(InAService, LimitsThatTheGroupHasNoControllerForAreRefused) {
  auto confinement = Confinement::open("leases", service_);
  ASSERT_TRUE(confinement);
  if (read_control(service_ / "cgroup.controllers").contains("memory"))
    GTEST_SKIP() << "this machine's cgroup v2 delegates memory";
  const auto refused = confinement->prepare("a", {}, Limits{{}, gib(1), {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "lease a: cannot hold programs to 1.00 GiB of memory: no memory controller is mounted; leave this limit out, "
      "or mount the controller");
  EXPECT_TRUE(confinement->leases().empty());
}

// A group that holds processes cannot give controllers on: the daemon moves into a group inside its own. Any controller
// shows that; cpu and memory may all be in v1 here.
TEST_F(InAService, TheDaemonMakesRoomForControllers) {
  const std::string controller = delegate_a_controller();
  if (controller.empty()) GTEST_SKIP() << "cgroup v2 has no controller on this machine";
  ASSERT_TRUE(make_group(service_, "leases", "lease-a"));

  TestProcess daemon([&] { return enable_controller(service_, "leases", controller) ? 0 : 1; });
  ASSERT_EQ(write_control(service_ / "cgroup.procs", std::to_string(daemon.pid())), 0);
  EXPECT_EQ(daemon.run(), 0);
  EXPECT_TRUE(fs::exists(service_ / "leases-daemon/main"));
  EXPECT_EQ(trim(read_control(service_ / "leases/lease-a/cgroup.controllers")), controller);
}

// No process may be in a group that gives controllers on, so who ends its own lease goes beside it.
TEST_F(InAService, WhoEndsItsOwnLeaseGoesBesideIt) {
  const std::string controller = delegate_a_controller();
  if (controller.empty()) GTEST_SKIP() << "cgroup v2 has no controller on this machine";
  auto confinement = Confinement::open("leases", service_);
  ASSERT_TRUE(confinement) << confinement.error().message;
  ASSERT_TRUE(confinement->prepare("a", Filter{{kCapsMajor}, {}}, {}));
  ASSERT_TRUE(enable_controller(service_, "leases", controller));
  TestProcess ender([&] { return confinement->signal("a", SIGTERM) && confinement->dissolve("a") ? 0 : 1; });
  ASSERT_TRUE(confinement->add("a", ender.pid()));
  EXPECT_EQ(ender.run(), 0);
  EXPECT_TRUE(confinement->leases().empty());
}

TEST_F(InAService, OthersInTheDaemonsGroupAreInTheWay) {
  const std::string controller = delegate_a_controller();
  if (controller.empty()) GTEST_SKIP() << "cgroup v2 has no controller on this machine";
  ASSERT_TRUE(make_group(service_, "leases", "lease-a"));
  TestProcess another([] { return 0; });
  ASSERT_EQ(write_control(service_ / "cgroup.procs", std::to_string(another.pid())), 0);
  const auto refused = enable_controller(service_, "leases", controller);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("other processes are in that group itself"));
  EXPECT_EQ(another.run(), 0);
}

}  // namespace
}  // namespace partita::deliver
