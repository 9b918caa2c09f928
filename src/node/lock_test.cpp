// Who may take the lock, and who is told that it is held.
#include "node/lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/file.h"
#include "base/test_folder.h"
#include "node/database.h"

namespace partita::node {
namespace {

constexpr uid_t kNobody = 65534;

mode_t mode_of(const std::filesystem::path& file) {
  struct stat found{};
  return stat(file.c_str(), &found) == 0 ? found.st_mode & 0777U : 0;
}

// What another user's process answers.
bool as_nobody(const std::function<bool()>& asks) {
  const pid_t pid = fork();
  if (pid == 0) _exit(setresuid(kNobody, kNobody, kNobody) == 0 && asks() ? 0 : 1);
  int status = 1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class LockFile : public testing::Test {
 protected:
  LockFile() { chmod(folder_.path().c_str(), 0755); }
  Result<Lock> take(const std::filesystem::path& socket = {}) {
    return take_lock(file_, "partita serve", true, std::chrono::milliseconds(0), silent_, socket);
  }

  TestFolder folder_;
  std::filesystem::path file_ = folder_.path() / "node.lock";
  SilentProgress silent_;
};

TEST_F(LockFile, IsItsOwnersAlone) {
  const mode_t before = umask(0);
  {
    ASSERT_TRUE(take());
  }
  umask(before);
  EXPECT_EQ(mode_of(file_), 0600U);
}

TEST_F(LockFile, OfAnEarlierVersionIsClosedToOthers) {
  folder_.write("node.lock", "");
  chmod(file_.c_str(), 0644);
  {
    ASSERT_TRUE(take());
  }
  EXPECT_EQ(mode_of(file_), 0600U);
}

TEST_F(LockFile, OthersCannotTakeItButAreTold) {
  if (getuid() != 0) GTEST_SKIP() << "only root can be another user";
  const std::filesystem::path socket = folder_.path() / "partita.sock";
  {
    const auto held = take(socket);
    ASSERT_TRUE(held);
    EXPECT_TRUE(as_nobody([&] { return open(file_.c_str(), O_RDONLY | O_CLOEXEC) < 0; }));
    EXPECT_TRUE(as_nobody([&] {
      const auto holder = lock_holder(file_);
      return holder && holder->pid == getppid() && holder->command == "partita serve" && holder->socket == socket;
    }));
  }
  EXPECT_TRUE(as_nobody([&] { return !lock_holder(file_); }));
}

// kill -9 leaves what was told.
TEST_F(LockFile, ADeadHolderIsNone) {
  const pid_t pid = fork();
  if (pid == 0) {
    const auto held = take("/run/none.sock");
    _exit(held ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(folder_.path() / "node.holder"));
  EXPECT_FALSE(lock_holder(file_));
  if (getuid() == 0) {
    EXPECT_TRUE(as_nobody([&] { return !lock_holder(file_); }));
  }
  const auto held = take();
  ASSERT_TRUE(held);
  EXPECT_EQ(lock_holder(file_).value_or(LockHolder{}).pid, getpid());
}

// The lock of a folder that was removed and made anew says nothing about the new one.
TEST_F(LockFile, LeavesAloneWhatAnotherHolderTells) {
  auto old_one = std::make_unique<Result<Lock>>(take());
  ASSERT_TRUE(*old_one);
  std::filesystem::remove(file_);
  const auto new_one = take("/run/new.sock");
  ASSERT_TRUE(new_one);
  old_one.reset();
  EXPECT_EQ(lock_holder(file_).value_or(LockHolder{}).socket, "/run/new.sock");
}

// Who may read a database may lock it, too.
TEST_F(LockFile, ADatabaseCanBeItsOwnersAlone) {
  const std::filesystem::path file = folder_.path() / "d.db";
  constexpr std::string_view kMigrations[] = {"CREATE TABLE t (n INTEGER)"};
  const mode_t before = umask(0);
  for (const bool again : {false, true}) {
    if (again)
      for (const char* part : {"", "-wal", "-shm"}) chmod((file.string() + part).c_str(), 0644);
    keep_private(file);
    auto database = Database::open(file, Database::Access::write, kMigrations);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->run("INSERT INTO t VALUES (1)"));
    for (const char* part : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(file.string() + part), 0600U) << part << again;
  }
  umask(before);
}

}  // namespace
}  // namespace partita::node
