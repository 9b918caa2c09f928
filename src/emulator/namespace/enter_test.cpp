// A child process enters the node and looks around; this process looks whether anything was left outside.
#include "emulator/namespace/enter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "base/file.h"
#include "catalog/catalog.h"
#include "emulator/control/control.h"
#include "emulator/control/test_support.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {
namespace {

namespace fs = std::filesystem;

// Runs `look` in a child and returns what it returned; "" is good.
std::string in_child(const std::function<std::string()>& look) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string said = look();
    const bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    said.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? said : said + " (the child died)";
}

bool may_mount() {
  return in_child([] { return ::unshare(CLONE_NEWNS) == 0 ? std::string() : "no"; }).empty();
}

std::string text_of(const fs::path& path) { return read_file(path).value_or("none at " + path.string()); }

int open_error(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

class EnterNode : public testing::Test {
 protected:
  void SetUp() override {
    if (!may_mount()) GTEST_SKIP() << "this process may not mount (it takes root)";
    catalog::Catalog catalog = open_catalog();
    const auto node = start(catalog, "lab=a30x2");
    ASSERT_TRUE(node) << node.error().message;
    folder_ = node->folder;
  }

  std::string inside(const std::function<std::string()>& look) const {
    return in_child([&] {
      const auto view = enter_node(folder_);
      return view ? look() : view.error().message;
    });
  }

  TemporaryRoot root_;
  fs::path folder_;
};

TEST_F(EnterNode, ShowsDeviceNodesOfTheDriverAndLeavesTheOthers) {
  EXPECT_EQ(inside([] {
              for (const auto& [name, number] : {std::pair{"nvidia0", 0U}, {"nvidia1", 1U}, {"nvidiactl", 255U}}) {
                struct stat entry{};
                if (::stat((fs::path("/dev") / name).c_str(), &entry) != 0 || !S_ISCHR(entry.st_mode))
                  return std::string(name);
                if (major(entry.st_rdev) != 195 || minor(entry.st_rdev) != number)
                  return std::string(name) + " has another number";
              }
              if (fs::exists("/dev/nvidia2")) return std::string("nvidia2 is there");
              if (open_error("/dev/null") != 0 || !fs::exists("/dev/pts"))
                return std::string("/dev/null or /dev/pts is not");
              return std::string();
            }),
            "");
}

TEST_F(EnterNode, ShowsFilesAndPciDevices) {
  EXPECT_EQ(inside([] {
              if (text_of("/proc/driver/nvidia/version").find("550.90.07") == std::string::npos)
                return std::string("version");
              if (text_of("/proc/devices").find("236 nvidia-caps\n") == std::string::npos)
                return std::string("devices");
              if (text_of("/proc/devices").find("  1 mem\n") == std::string::npos) return std::string("mem");
              if (fs::exists("/proc/modules") && !text_of("/proc/modules").starts_with("nvidia_uvm"))
                return std::string("modules");
              if (!fs::exists("/sys/bus/pci/devices")) return std::string();
              if (text_of("/sys/bus/pci/devices/0000:ca:00.0/device") != "0x20b7\n") return std::string("device");
              if (fs::canonical("/sys/bus/pci/devices/0000:ca:00.0/driver") != "/sys/bus/pci/drivers/nvidia")
                return std::string("driver");
              for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices"))
                if (!fs::exists(entry.path() / "vendor")) return entry.path().string() + " leads nowhere";
              return std::string();
            }),
            "");
}

TEST_F(EnterNode, FollowsInstancesThatComeAndGo) {
  EXPECT_EQ(inside([this] {
              auto engine = Engine::open(folder_);
              NvmlReturn activation{};
              GpuInstanceState made;
              if (engine->set_mig_mode(1, true, activation) != kSuccess || engine->reset({1}) != kSuccess)
                return std::string("mode");
              if (engine->create_gpu_instance(1, 14, 0, made) != kSuccess) return std::string("create");
              const std::string instance =
                  "/proc/driver/nvidia/capabilities/gpu1/mig/gi" + std::to_string(made.id) + "/access";
              const int minor = 3 + 135 + 9 * made.id;
              const fs::path node = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor);
              if (text_of(instance).find("DeviceFileMinor: " + std::to_string(minor) + "\n") == std::string::npos)
                return text_of(instance);
              struct stat entry{};
              if (::stat(node.c_str(), &entry) != 0 || major(entry.st_rdev) != 236) return node.string();
              if (engine->destroy_gpu_instance(1, made.id, made.serial) != kSuccess) return std::string("destroy");
              return fs::exists(instance) || fs::exists(node) ? "still there" : std::string();
            }),
            "");
}

TEST_F(EnterNode, RootMayWriteCapabilitiesAndNoLists) {
  EXPECT_EQ(inside([] {
              if (open_error("/proc/driver/nvidia/capabilities/mig/config") != 0) return std::string("config");
              return open_error("/proc/devices") == EROFS ? std::string() : "devices";
            }),
            "");
}

TEST_F(EnterNode, AViewInAViewShowsTheInnerNode) {
  catalog::Catalog catalog = open_catalog();
  const auto inner = start(catalog, "inner=rtx-pro-6000");
  ASSERT_TRUE(inner);
  EXPECT_EQ(inside([&] {
              const auto view = enter_node(inner->folder);
              if (!view) return view.error().message;
              if (text_of("/proc/driver/nvidia/version").find("580.105.06") == std::string::npos)
                return std::string("version");
              if (fs::exists("/sys/bus/pci/devices/0000:ca:00.0")) return std::string("the outer node's GPU is there");
              if (text_of("/sys/bus/pci/devices/0000:c1:00.0/device") != "0x2bb5\n") return std::string("device");
              return std::string();
            }),
            "");
}

TEST_F(EnterNode, LeavesNothingOutside) {
  const std::string before = text_of("/proc/self/mountinfo");
  EXPECT_EQ(inside([] { return std::string(); }), "");
  EXPECT_EQ(text_of("/proc/self/mountinfo"), before);
}

TEST_F(EnterNode, IsDeniedToWhoMayNotMountAndNothingChanges) {
  if (::geteuid() != 0) GTEST_SKIP() << "the node belongs to this user";
  fs::permissions(root_.path(), fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(in_child([this] {
              if (::setgid(65534) != 0 || ::setuid(65534) != 0) return std::string("cannot be nobody");
              const std::string before = text_of("/proc/self/mountinfo");
              const auto view = enter_node(folder_);
              if (view || view.error().code != ErrorCode::denied) return std::string("not denied");
              return text_of("/proc/self/mountinfo") == before ? std::string() : "something is mounted";
            }),
            "");
}

TEST(EnterNodeErrors, AFolderThatIsNoNodeIsRefusedBeforeAnythingChanges) {
  const TestFolder folder;
  EXPECT_EQ(in_child([&] {
              const std::string before = text_of("/proc/self/mountinfo");
              const auto view = enter_node(folder.path());
              if (view) return std::string("entered");
              return text_of("/proc/self/mountinfo") == before ? std::string() : "something is mounted";
            }),
            "");
}

}  // namespace
}  // namespace partita::emulator
