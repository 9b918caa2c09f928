#include "deliver/launch.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/test_folder.h"

namespace partita::deliver {
namespace {

using testing::HasSubstr;

Result<int> run(const Program& program) {
  auto started = TRY(StoppedProgram::start(program));
  TRY_VOID(started.go());
  return started.wait();
}
Program shell(const std::string& script) { return {{"sh", "-c", script}, {}}; }

int wait_for(pid_t pid, int options = 0) {
  int status = 0;
  while (::waitpid(pid, &status, options) < 0 && errno == EINTR) {
  }
  return status;
}

// Waits, at most 5 s.
bool comes_true(const std::function<bool()>& condition) {
  for (int attempt = 0; attempt < 5000; ++attempt) {
    if (condition()) return true;
    ::usleep(1000);
  }
  return false;
}

// Gone, or waiting to be reaped by whoever adopted it.
bool has_ended(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.empty() || text.contains(") Z ");
}

// A process that is another's parent.
pid_t in_child(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(work());
  return pid;
}

TEST(Launch, EndsAsTheProgramDoes) {
  EXPECT_EQ(run({{"true"}, {}}).value(), 0);
  EXPECT_EQ(run(shell("exit 42")).value(), 42);
  EXPECT_EQ(run(shell("kill -TERM $$")).value(), 128 + SIGTERM);
  EXPECT_EQ(run(shell("kill -KILL $$")).value(), 128 + SIGKILL);
}

TEST(Launch, EnvironmentIsOursAndWhatIsGiven) {
  ::setenv("PARTITA_TEST_KEPT", "kept", 1);
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  const Program program{{"sh", "-c", "test \"$CUDA_VISIBLE_DEVICES-$PARTITA_TEST_KEPT\" = MIG-1-kept"},
                        {{"CUDA_VISIBLE_DEVICES", "MIG-1"}}};
  EXPECT_EQ(run(program).value(), 0);
  ::unsetenv("PARTITA_TEST_KEPT");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Launch, NothingRunsBeforeGo) {
  const TestFolder folder;
  const auto mark = folder.path() / "mark";
  auto program = StoppedProgram::start(shell("echo > " + mark.string()));
  ASSERT_TRUE(program);
  ASSERT_GT(program->pid(), 0);
  ::usleep(20'000);
  EXPECT_FALSE(std::filesystem::exists(mark));
  ASSERT_TRUE(program->go());
  EXPECT_EQ(program->wait().value(), 0);
  EXPECT_TRUE(std::filesystem::exists(mark));
}

TEST(Launch, ProgramsThatCannotBeStarted) {
  const auto unknown = run({{"partita-no-such-program"}, {}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::not_found);
  EXPECT_EQ(unknown.error().message, "no program \"partita-no-such-program\" is in the folders of PATH");

  const TestFolder folder;
  const auto text = folder.write("text", "#!/bin/sh\n");
  const auto denied = run({{text.string()}, {}});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, ErrorCode::denied);
  EXPECT_THAT(denied.error().message, HasSubstr(text.string() + "\": Permission denied"));

  // PATH may name what is no folder, and what may not be looked into.
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (text.string() + ":" + path).c_str(), 1);
  EXPECT_EQ(run({{"partita-no-such-program"}, {}}).error().code, ErrorCode::not_found);
  ::setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  EXPECT_EQ(run({{"text"}, {}}).error().code, ErrorCode::denied) << "there, but not executable";
  ::setenv("PATH", path.c_str(), 1);

  const auto script = folder.write("script", "#!/no/such/interpreter\n");
  std::filesystem::permissions(script, std::filesystem::perms::all);
  const auto interpreter = run({{script.string()}, {}});
  ASSERT_FALSE(interpreter);
  EXPECT_EQ(interpreter.error().code, ErrorCode::not_found);
  EXPECT_THAT(interpreter.error().message, HasSubstr("the interpreter that it names is missing"));

  EXPECT_EQ(run({{}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(run({{""}, {}}).error().code, ErrorCode::invalid);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left behind";
}

TEST(Launch, NeverStartedItEnds) {
  pid_t pid = 0;
  {
    auto program = StoppedProgram::start(shell("exit 0"));
    ASSERT_TRUE(program);
    pid = program->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGTERM)) << "signals are as before";
}

TEST(Launch, KilledBeforeGoIsItsStatus) {
  auto program = StoppedProgram::start(shell("exit 0"));
  ASSERT_TRUE(program);
  ::kill(program->pid(), SIGKILL);
  ASSERT_TRUE(program->go());
  EXPECT_EQ(program->wait().value(), 128 + SIGKILL);
}

TEST(Launch, WithoutItsParentItDoesNotStart) {
  const TestFolder folder;
  const auto mark = folder.path() / "mark", child = folder.path() / "child";
  const pid_t parent = in_child([&] {
    auto program = StoppedProgram::start(shell("echo > " + mark.string()));
    std::ofstream(child) << program->pid() << std::flush;
    ::raise(SIGKILL);
    return 0;
  });
  wait_for(parent);
  pid_t pid = 0;
  std::ifstream(child) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(comes_true([&] { return has_ended(pid); }));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Launch, AKilledParentTakesItsProgramAlong) {
  const TestFolder folder;
  const auto mark = folder.path() / "mark", started = folder.path() / "started";
  const pid_t parent = in_child([&] {
    auto program = StoppedProgram::start(shell("trap 'echo > " + mark.string() + "; exit' TERM; echo > " +
                                               started.string() + "; while :; do sleep 0.01; done"));
    if (!program || !program->go()) return 1;
    return program->wait().value_or(1);
  });
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(started); }));
  ::kill(parent, SIGKILL);
  wait_for(parent);
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(mark); }));
}

TEST(Launch, SignalsArePassedOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    const TestFolder folder;
    const auto started = folder.path() / "started";
    const pid_t parent = in_child([&] {
      auto program = StoppedProgram::start(
          shell("trap 'exit 9' INT TERM HUP QUIT; echo > " + started.string() + "; while :; do sleep 0.01; done"));
      if (!program || !program->go()) return 1;
      return program->wait().value_or(1);
    });
    ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(started); }));
    ::kill(parent, signal);
    const int status = wait_for(parent);
    EXPECT_TRUE(WIFEXITED(status)) << signal;
    EXPECT_EQ(WEXITSTATUS(status), 9) << signal;
  }
}

// As with nohup.
TEST(Launch, WhatIsIgnoredStaysIgnored) {
  const pid_t parent = in_child([] {
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);
    auto program = StoppedProgram::start(shell("kill -HUP $$; kill -HUP $PPID; exit 4"));
    if (!program || !program->go()) return 1;
    return program->wait().value_or(1);
  });
  EXPECT_EQ(WEXITSTATUS(wait_for(parent)), 4);
}

TEST(Launch, AProgramThatStopsItselfStopsUs) {
  const pid_t parent = in_child([] { return run(shell("kill -STOP $$; exit 6")).value_or(1); });
  EXPECT_TRUE(WIFSTOPPED(wait_for(parent, WUNTRACED))) << "the shell sees it";
  ::kill(parent, SIGCONT);
  EXPECT_EQ(WEXITSTATUS(wait_for(parent)), 6);
}

// A terminal, and at its other end a process that does `work`.
class Terminal {
 public:
  explicit Terminal(const std::function<int()>& work) {
    pid_ = ::forkpty(&fd_, nullptr, nullptr, nullptr);
    if (pid_ == 0) ::_exit(work());
  }
  ~Terminal() {
    ::close(fd_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait_for(pid_);
    }
  }
  void type(const std::string& text) const {
    ASSERT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Reads until `text` has come; at most 10 s of silence.
  bool shows(const std::string& text) {
    pollfd waiting{fd_, POLLIN, 0};
    while (seen_.find(text) == std::string::npos && ::poll(&waiting, 1, 10'000) > 0) {
      char buffer[4096];
      const ssize_t n = ::read(fd_, buffer, sizeof buffer);
      if (n <= 0) break;
      seen_.append(buffer, static_cast<std::size_t>(n));
    }
    return seen_.find(text) != std::string::npos;
  }
  int end() {
    const int status = wait_for(std::exchange(pid_, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& seen() const { return seen_; }

 private:
  int fd_ = -1;
  pid_t pid_ = 0;
  std::string seen_;
};

TEST(LaunchOnATerminal, AnInteractiveShellHasJobControlAndGivesTheTerminalBack) {
  Terminal terminal([] {
    const auto status = run({{"sh", "-i"}, {{"PS1", "ready> "}, {"ENV", ""}}});
    const bool ours = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
    return status && *status == 5 && ours ? 0 : 1;
  });
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type("echo $((6 * 7))\n");
  EXPECT_TRUE(terminal.shows("42"));
  EXPECT_EQ(terminal.seen().find("job control turned off"), std::string::npos) << terminal.seen();
  terminal.type("exit 5\n");
  EXPECT_EQ(terminal.end(), 0);
}

// A shell that is killed has no time to give the terminal back.
TEST(LaunchOnATerminal, TheTerminalComesBackFromAKilledShell) {
  Terminal terminal([] {
    const auto status = run({{"sh", "-i"}, {{"PS1", "ready> "}, {"ENV", ""}}});
    const bool ours = ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
    return status && *status == 128 + SIGKILL && ours ? 0 : 1;
  });
  ASSERT_TRUE(terminal.shows("ready> "));
  terminal.type("kill -KILL $$\n");
  EXPECT_EQ(terminal.end(), 0);
}

TEST(LaunchOnATerminal, ControlCReachesTheProgramOnceAndLeavesUsAlive) {
  Terminal terminal([] {
    const auto status =
        run(shell("trap 'n=$((n+1)); echo interrupted $n' INT; echo started; "
                  "while [ ! \"$n\" ]; do sleep 0.01; done; sleep 0.1; echo seen $n times; exit 3"));
    return status && *status == 3 ? 0 : 1;
  });
  ASSERT_TRUE(terminal.shows("started"));
  terminal.type("\x03");
  EXPECT_TRUE(terminal.shows("seen 1 times")) << terminal.seen();
  EXPECT_EQ(terminal.end(), 0);
}

TEST(LaunchOnATerminal, ControlCThatEndsTheProgramLetsUsFinish) {
  Terminal terminal([] {
    auto program = StoppedProgram::start(shell("echo started; exec sleep 100"));
    if (!program || !program->go()) return 1;
    const int status = program->wait().value_or(1);
    return status == 128 + SIGINT ? 0 : 2;  // the lease is released here
  });
  ASSERT_TRUE(terminal.shows("started"));
  terminal.type("\x03");
  EXPECT_EQ(terminal.end(), 0);
}

}  // namespace
}  // namespace partita::deliver
