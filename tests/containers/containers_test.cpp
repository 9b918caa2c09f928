// podman and runc with our CDI files: a container opens the nodes of its lease (ENXIO: allowed, nobody has these
// devices) and none of another (EPERM, from the device filter that the runtime sets). In a mount namespace of its own.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/process.h"
#include "base/test_folder.h"
#include "deliver/cdi.h"

namespace partita::deliver {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr int kNvidiaMajor = 195, kCapsMajor = 236;

struct Output {
  int status = -1;
  std::string text;  // standard output and standard error
};

Output shell(const std::string& command) {
  Output output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) output.text.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

std::string why_not() {
  if (::geteuid() != 0) return "only root can make device nodes";
  for (const char* program : {"podman", "runc", "busybox"})
    if (!find_program(program)) return fmt::format("{} is not installed; ./dev test containers installs it", program);
  return "";
}

class Containers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!why_not().empty()) return;
    folder_ = new TestFolder;
    // What is mounted from here on is seen by this program and its children alone.
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    fs::create_directories("/var/run/cdi");
    fs::create_directories(cdi());
    ASSERT_EQ(::mount(cdi().c_str(), "/var/run/cdi", nullptr, MS_BIND, nullptr), 0);
    folder_->write("containers.conf",
                   "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=1024:1024\"]\n[engine]\nruntime = "
                   "\"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n");
    ::setenv("CONTAINERS_CONF", (folder_->path() / "containers.conf").c_str(), 1);
    const Output image = shell(fmt::format(
        "set -e; cd {}; for d in bin etc dev proc sys tmp; do mkdir -p r/$d; done; cp \"$(command -v busybox)\" "
        "r/bin/; for a "
        "in sh ls env cat; do ln -sf busybox r/bin/$a; done; tar -C r -c . | {} import - localhost/busybox:1",
        folder_->path().string(), podman()));
    ASSERT_EQ(image.status, 0) << image.text;
  }
  static void TearDownTestSuite() {
    if (folder_ == nullptr) return;
    ::umount2("/var/run/cdi", MNT_DETACH);
    remove_groups();
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (const std::string why = why_not(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (folder_ == nullptr) return;
    for (const std::string& stem : list_cdi(cdi())) EXPECT_TRUE(remove_cdi(cdi(), stem));
  }

  static fs::path cdi() { return folder_->path() / "cdi"; }
  static std::string podman() {
    return fmt::format("podman --root {0}/root --runroot {0}/run --tmpdir {0}/tmp --storage-driver vfs",
                       folder_->path().string());
  }
  // `script` in a container that was given `devices`.
  static Output contained(const std::vector<std::string>& devices, const std::string& script) {
    std::string given;
    for (const std::string& device : devices) given += fmt::format(" --device {}={}", kCdiKind, device);
    return shell(fmt::format("{} run --rm --network none --cgroup-parent /{}{} localhost/busybox:1 /bin/sh -c '{}'",
                             podman(), groups(), given, script));
  }

  static std::string groups() { return fmt::format("partita-test-{}", ::getpid()); }
  // podman leaves the parent of its control groups, with conmon's, in each hierarchy.
  static void remove_groups() {
    for (int attempt = 0; attempt < 100; ++attempt) {  // conmon ends a little later than its container
      const Output left =
          shell(fmt::format("for g in /sys/fs/cgroup/{0} /sys/fs/cgroup/*/{0}; do [ ! -d $g ] || find $g "
                            "-depth -type d -exec rmdir {{}} ';' 2>&1; done",
                            groups()));
      if (left.text.empty()) return;
      ::usleep(20'000);
    }
  }

  static std::string node(int major, int minor) {
    const fs::path path = folder_->path() / fmt::format("node-{}-{}", major, minor);
    if (!fs::exists(path)) {
      const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
      EXPECT_EQ(::mknod(path.c_str(), S_IFCHR | 0666, device), 0);
    }
    return path;
  }
  // What a lease of the instance with capability minors `gi` and `gi` + 1 on GPU 0 gives.
  static CdiDevice lease(const std::string& index, const std::string& uuid, const std::string& lease_name, int gi) {
    CdiDevice device;
    device.names = {index, uuid, lease_name};
    device.nodes = {{"/dev/nvidia0", node(kNvidiaMajor, 0), "rw"}, {"/dev/nvidiactl", node(kNvidiaMajor, 255), "rw"}};
    for (const int minor : {gi, gi + 1})
      device.nodes.push_back({fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor), node(kCapsMajor, minor), "r"});
    device.envs = {{"PARTITA_LEASE", lease_name}};
    return device;
  }
  static void deliver(const std::string& stem, const CdiDevice& device) {
    const auto written = write_cdi(cdi(), stem, cdi_specification({&device, 1}));
    ASSERT_TRUE(written) << written.error().message;
  }

  static TestFolder* folder_;  // of all tests: an image is made once
};
TestFolder* Containers::folder_ = nullptr;

constexpr std::string_view kOpenAll =
    "ls /dev/nvidia-caps; echo $PARTITA_LEASE; for n in /dev/nvidia0 /dev/nvidiactl /dev/nvidia-caps/*; do cat $n; "
    "done; "
    "echo > /dev/nvidia-caps/nvidia-cap66";

TEST_F(Containers, EachNameOfALeaseGivesItsNodes) {
  deliver("alice", lease("0:1", "MIG-11111111-2222-3333-4444-555555555555", "alice", 66));
  for (const char* name : {"0:1", "MIG-11111111-2222-3333-4444-555555555555", "alice"}) {
    const std::string text = contained({name}, std::string(kOpenAll)).text;
    EXPECT_THAT(text, HasSubstr("nvidia-cap66\nnvidia-cap67\nalice\n")) << name;
    for (const char* opened :
         {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"})
      EXPECT_THAT(text, HasSubstr(fmt::format("can't open '{}': No such device or address", opened))) << name;
    EXPECT_THAT(text, HasSubstr("can't create /dev/nvidia-caps/nvidia-cap66: Operation not permitted"))
        << "given for reading only";
  }
}

TEST_F(Containers, AnotherLeasesNodesAreDeniedByTheKernel) {
  deliver("alice", lease("0:1", "MIG-a", "alice", 66));
  deliver("bob", lease("0:2", "MIG-b", "bob", 75));
  // Their node is made inside, as a container that is root may: the filter denies what it stands for.
  const Output output =
      contained({"alice"}, "/bin/busybox mknod /tmp/bobs c 236 75; cat /tmp/bobs; ls /dev/nvidia-caps");
  EXPECT_THAT(output.text, HasSubstr("'/tmp/bobs': Operation not permitted"));
  EXPECT_THAT(output.text, Not(HasSubstr("nvidia-cap75")));
  const Output both =
      contained({"alice", "0:2"}, "cat /dev/nvidia-caps/nvidia-cap66; cat /dev/nvidia-caps/nvidia-cap75");
  EXPECT_THAT(both.text, HasSubstr("nvidia-cap66': No such device or address"));
  EXPECT_THAT(both.text, HasSubstr("nvidia-cap75': No such device or address"));
}

TEST_F(Containers, AReleasedLeaseIsUnknown) {
  deliver("alice", lease("0:1", "MIG-a", "alice", 66));
  EXPECT_EQ(contained({"alice"}, "true").status, 0);
  ASSERT_TRUE(remove_cdi(cdi(), "alice"));
  const Output output = contained({"alice"}, "true");
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("alice"));
}

TEST_F(Containers, ANameThatCdiForbidsDoesNotVoidTheOthers) {
  deliver("trailing-", lease("0:1", "MIG-a", "trailing-", 66));
  EXPECT_EQ(contained({"0:1"}, "true").status, 0);
}

}  // namespace
}  // namespace partita::deliver
