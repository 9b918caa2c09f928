// Real character nodes and real processes, for the tests of deliver/. The kernel's verdict on open(): ENXIO where it is
// allowed (nobody has these majors' devices here), EPERM where a device filter denies it, EACCES where the mode does.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/test_folder.h"
#include "deliver/cgroup.h"
#include "deliver/confine.h"
#include "deliver/descriptor.h"

namespace partita::deliver {

inline constexpr int kNvidiaMajor = 195, kCapsMajor = 236;

// GPU instance i of GPU g on an A100 cut into seven, and its one compute instance.
inline int instance_minor(int gpu, int gi) { return 3 + 135 * gpu + 9 * gi; }
inline int compute_minor(int gpu, int gi) { return instance_minor(gpu, gi) + 1; }

class TestNodes {
 public:
  TestNodes() { ::chmod(folder_.path().c_str(), 0755); }

  const std::filesystem::path& path() const { return folder_.path(); }
  std::string make(int major, int minor, unsigned mode = 0666) const {
    const auto path = folder_.path() / (std::to_string(major) + "-" + std::to_string(minor));
    const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
    if (::mknod(path.c_str(), S_IFCHR | mode, device) == 0) ::chmod(path.c_str(), mode);
    return path;
  }
  // Why these tests cannot run here; "" when they can.
  std::string unusable() const {
    if (::geteuid() != 0) return "only root can make device nodes";
    const std::string probe = make(kCapsMajor, 4000);
    return open_error(probe, O_RDONLY) == ENXIO ? "" : "device nodes cannot be opened in " + folder_.path().string();
  }
  // 0 or errno.
  static int open_error(const std::string& path, int flags) {
    const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
    return file.get() >= 0 ? 0 : errno;
  }

 private:
  TestFolder folder_;
};

// A forked process that waits for go(), then does its work; what that returns is its exit status.
class TestProcess {
 public:
  explicit TestProcess(const std::function<int()>& work) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      char word = 0;
      const bool told = ::read(ends[0], &word, 1) == 1;
      ::_exit(told ? work() : 255);
    }
    ::close(ends[0]);
    go_ = Descriptor(ends[1]);
  }
  TestProcess(TestProcess&&) noexcept = default;
  ~TestProcess() {
    if (!waited_ && go_.get() >= 0) {
      go_.close();
      wait();
    } else if (!waited_) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }

  pid_t pid() const { return pid_; }
  void go() {
    ASSERT_EQ(::write(go_.get(), "g", 1), 1);
    go_.close();
  }
  // Exit status, or -signal.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    waited_ = true;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  int run() {
    go();
    return wait();
  }

 private:
  pid_t pid_ = 0;
  Descriptor go_;
  bool waited_ = false;
};

// Becomes a user without any group but its own.
inline void become(uid_t uid) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) ::_exit(254);
}

// Ends what is in all groups of `prefix` and removes them.
inline void remove_groups(const std::string& prefix, CgroupVersion version) {
  auto confinement = Confinement::open(prefix, "/sys/fs/cgroup", version);
  if (!confinement) return;
  for (const std::string& lease : confinement->leases()) {
    for (int attempt = 0; attempt < 500; ++attempt) {
      ASSERT_TRUE(confinement->signal(lease, SIGKILL));
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      if (confinement->dissolve(lease)) break;
      ::usleep(2000);
    }
  }
  EXPECT_TRUE(confinement->leases().empty());
}

// Groups of runs of these tests that were killed: "partita-test-PID", "partita-test-PID-leases".
inline void remove_leftover_groups() {
  const std::string_view start = "partita-test-";
  std::vector<std::filesystem::path> roots = groups_in("/sys/fs/cgroup");
  roots.emplace_back("/sys/fs/cgroup");
  for (const auto& root : roots) {
    for (const auto& group : groups_in(root)) {
      const std::string name = group.filename();
      const pid_t maker = name.starts_with(start) ? std::atoi(name.c_str() + start.size()) : 0;
      if (maker <= 0 || ::kill(maker, 0) == 0 || errno != ESRCH) continue;
      std::set<pid_t> left;
      write_control(group / "cgroup.freeze", "0");
      for (const auto& inner : groups_in(group)) write_control(inner / "freezer.state", "THAWED");
      collect_processes(group, left);
      for (const pid_t pid : left) ::kill(pid, SIGKILL);
      while (!remove_group(group) && ::usleep(1000) == 0) {
      }
    }
  }
}

}  // namespace partita::deliver
