#include "deliver/permissions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>

#include "deliver/cgroup.h"
#include "deliver/test_nodes.h"

namespace partita::deliver {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The files of the kernel module and its nodes, below a folder.
class Permissions : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = nodes_.unusable(); !why.empty()) GTEST_SKIP() << why;
    write("proc/devices", fmt::format("Character devices:\n  1 mem\n{} nvidia\n{} nvidia-caps\n\nBlock devices:\n",
                                      kNvidiaMajor, kCapsMajor));
    fs::create_directories(nodes_.path() / "dev/nvidia-caps");
  }

  fs::path write(const fs::path& name, std::string_view text) const {
    const fs::path file = nodes_.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  // As the driver makes it: all may read.
  CapabilityNode capability(int minor, bool made = true) const {
    const fs::path access =
        write(fmt::format("proc/driver/nvidia/capabilities/gpu0/mig/gi{}/access", minor),
              fmt::format("DeviceFileMinor: {}\nDeviceFileMode: 292\nDeviceFileModify: 1\n", minor));
    const fs::path node = nodes_.path() / fmt::format("dev/nvidia-caps/nvidia-cap{}", minor);
    if (made) make(node, kCapsMajor, minor, 0444);
    return {node, access};
  }
  static void make(const fs::path& node, int major, int minor, unsigned mode) {
    const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    ASSERT_EQ(::mknod(node.c_str(), S_IFCHR | mode, device), 0);
  }
  static std::string state(const fs::path& node) {
    struct stat status{};
    if (::lstat(node.c_str(), &status) != 0) return "absent";
    return fmt::format("{}:{} {:o} {}:{}", status.st_uid, status.st_gid, status.st_mode & 07777,
                       ::major(status.st_rdev), ::minor(status.st_rdev));
  }
  // What `user` gets who opens it.
  static int verdict(uid_t user, const fs::path& node, int flags = O_RDONLY) {
    TestProcess process([&] {
      become(user);
      return TestNodes::open_error(node, flags);
    });
    return process.run();
  }

  TestNodes nodes_;
};

TEST_F(Permissions, TheHolderAloneMayOpen) {
  const std::vector<CapabilityNode> nodes = {capability(12), capability(13)};
  EXPECT_EQ(verdict(2000, nodes[0].node), ENXIO) << "the driver makes them for everyone";
  const auto given = give(nodes, 2000, 2001);
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(state(nodes[0].node), "2000:2001 600 236:12");
  EXPECT_EQ(verdict(2000, nodes[0].node, O_RDWR), ENXIO);
  EXPECT_EQ(verdict(2000, nodes[1].node), ENXIO);
  EXPECT_EQ(verdict(2002, nodes[0].node), EACCES);
  EXPECT_EQ(verdict(2001, nodes[1].node), EACCES) << "the holder's group is not the holder";
  EXPECT_EQ(read_control(nodes[0].access), "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 0\n");

  ASSERT_TRUE(take_back(nodes));
  EXPECT_EQ(state(nodes[0].node), "0:0 600 236:12");
  EXPECT_EQ(verdict(2000, nodes[0].node), EACCES);
  ASSERT_TRUE(take_back(nodes)) << "again";
}

// All 56 holders of a DGX A100 cut into 8 x 7, without any device filter: users are kept apart by the modes alone.
TEST_F(Permissions, FiftySixUsersEachPair) {
  std::vector<std::vector<CapabilityNode>> leases;
  for (int gpu = 0; gpu < 8; ++gpu)
    for (int gi = 7; gi < 14; ++gi) {
      leases.push_back({capability(instance_minor(gpu, gi)), capability(compute_minor(gpu, gi))});
      ASSERT_TRUE(give(leases.back(), static_cast<uid_t>(10000 + leases.size() - 1), 10000));
    }
  for (std::size_t holder = 0; holder < leases.size(); ++holder) {
    TestProcess process([&] {
      become(static_cast<uid_t>(10000 + holder));
      int wrong = 0;
      for (std::size_t other = 0; other < leases.size(); ++other)
        for (const CapabilityNode& node : leases[other])
          wrong += TestNodes::open_error(node.node, O_RDONLY) != (other == holder ? ENXIO : EACCES);
      return wrong;
    });
    EXPECT_EQ(process.run(), 0) << "holder " << holder;
  }
  for (const auto& lease : leases) ASSERT_TRUE(take_back(lease));
  TestProcess former([&] {
    become(10000);
    int wrong = 0;
    for (const auto& lease : leases) wrong += TestNodes::open_error(lease[0].node, O_RDONLY) != EACCES;
    return wrong;
  });
  EXPECT_EQ(former.run(), 0);
}

// An owner may widen the mode and name others in an access list; the next holder has neither.
TEST_F(Permissions, WhatTheFormerHolderChangedIsUndone) {
  const std::vector<CapabilityNode> nodes = {capability(12)};
  ASSERT_TRUE(give(nodes, 2000, 2000));
  ASSERT_EQ(::chmod(nodes[0].node.c_str(), 0666), 0);
  ASSERT_TRUE(give(nodes, 2001, 2001));
  EXPECT_EQ(state(nodes[0].node), "2001:2001 600 236:12");
  EXPECT_EQ(verdict(2000, nodes[0].node), EACCES);
}

TEST_F(Permissions, MakesWhatNobodyMadeYet) {
  const std::vector<CapabilityNode> nodes = {capability(21, false)};
  ASSERT_TRUE(give(nodes, 2000, 2000));
  EXPECT_EQ(state(nodes[0].node), "2000:2000 600 236:21");
}

// The major of nvidia-caps is given at each load of the driver.
TEST_F(Permissions, ANodeOfAnotherDeviceIsMadeAnew) {
  const CapabilityNode node = capability(21, false);
  make(node.node, 240, 21, 0444);
  ASSERT_TRUE(give(std::vector{node}, 2000, 2000));
  EXPECT_EQ(state(node.node), "2000:2000 600 236:21");
  ASSERT_EQ(::unlink(node.node.c_str()), 0);
  fs::create_symlink("/dev/null", node.node);
  ASSERT_TRUE(give(std::vector{node}, 2000, 2000));
  EXPECT_EQ(state(node.node), "2000:2000 600 236:21");
  EXPECT_EQ(state("/dev/null").substr(0, 4), "0:0 ") << "a link is not followed";
}

TEST_F(Permissions, AllOrNothing) {
  const CapabilityNode good = capability(12), absent{nodes_.path() / "dev/nvidia-caps/nvidia-cap13",
                                                     nodes_.path() / "proc/driver/nvidia/capabilities/none/access"};
  const auto given = give(std::vector{good, absent}, 2000, 2000);
  ASSERT_FALSE(given);
  EXPECT_EQ(given.error().code, ErrorCode::not_found);
  EXPECT_EQ(state(good.node), "0:0 444 236:12") << "as before";
  EXPECT_TRUE(take_back(std::vector{absent})) << "gone with its instance";
}

TEST_F(Permissions, AFileOfSomethingElseIsNotTaken) {
  CapabilityNode node = capability(12);
  write("proc/driver/nvidia/capabilities/gpu0/mig/gi12/access", "hello\n");
  const auto given = give(std::vector{node}, 2000, 2000);
  ASSERT_FALSE(given);
  EXPECT_THAT(given.error().message, HasSubstr("does not tell DeviceFileMinor and DeviceFileModify"));
}

// Without root, only on emulated nodes, whose nodes are then plain files of the user's own.
TEST_F(Permissions, PlainFilesOfAnEmulatedNodeWithoutRoot) {
  const fs::path own = nodes_.path() / "own";
  fs::create_directories(own / "dev");
  fs::create_directories(own / "proc");
  for (const char* name : {"dev/cap12", "proc/access"})
    std::ofstream(own / name) << "DeviceFileMinor: 12\nDeviceFileMode: 292\nDeviceFileModify: 1\n";
  for (const fs::path& path : {own, own / "dev", own / "proc", own / "dev/cap12", own / "proc/access"})
    ASSERT_EQ(::chown(path.c_str(), 2000, 2000), 0);
  for (const fs::path& file : {own / "dev/cap12", own / "proc/access"}) ASSERT_EQ(::chmod(file.c_str(), 0444), 0);
  const std::vector<CapabilityNode> nodes = {{own / "dev/cap12", own / "proc/access"}};
  TestProcess user([&] {
    become(2000);
    if (!give(nodes, 2000, 2000)) return 1;
    if (give(nodes, 2001, 2001)) return 2;
    return take_back(nodes) ? 0 : 3;
  });
  EXPECT_EQ(user.run(), 0);
  EXPECT_EQ(state(nodes[0].node), "2000:2000 600 0:0");
  EXPECT_THAT(read_control(nodes[0].access), HasSubstr("DeviceFileModify: 0"));
}

}  // namespace
}  // namespace partita::deliver
