#include "deliver/launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/pipe_signal.h"
#include "base/process.h"
#include "base/text.h"

extern char** environ;

namespace partita::deliver {

namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& envs) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::ranges::none_of(envs, [&](const auto& env) { return env.first == name; })) all.emplace_back(text);
  }
  for (const auto& [name, value] : envs) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What is ignored (nohup, background jobs of scripts) stays ignored by both.
sigset_t signals_to_pass_on() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kPassedOn) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

pid_t own_foreground_group() {
  const pid_t group = ::getpgrp();
  return ::tcgetpgrp(STDIN_FILENO) == group ? group : -1;
}

// A shell that was killed leaves the terminal to a group that is gone.
void take_terminal_back(pid_t group) {
  if (group < 0 || ::tcgetpgrp(STDIN_FILENO) == group) return;
  sigset_t terminal_output, before;
  sigemptyset(&terminal_output);
  sigaddset(&terminal_output, SIGTTOU);
  ::pthread_sigmask(SIG_BLOCK, &terminal_output, &before);
  ::tcsetpgrp(STDIN_FILENO, group);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// execvpe says EACCES also when it may not look into a folder of PATH.
bool is_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  return std::ranges::any_of(split(path ? path : "/usr/bin:/bin", ':'), [&](const std::string& folder) {
    return ::access((std::filesystem::path(folder.empty() ? "." : folder) / name).c_str(), F_OK) == 0;
  });
}

Error exec_error(const std::string& name, int error) {
  const std::string shown = quote(name);
  const bool bare = name.find('/') == std::string::npos;
  if (error == EACCES && bare && !is_in_path(name)) error = ENOENT;
  const auto because = [&](ErrorCode code, std::string_view why) {
    return Error{code, fmt::format("cannot start {}: {}", shown, why), {}};
  };
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (find_program(name)) return because(ErrorCode::not_found, "the interpreter that it names is missing");
      return Error{
          ErrorCode::not_found, fmt::format("no program {}{}", shown, bare ? " is in the folders of PATH" : ""), {}};
    case EACCES:
    case EPERM:
      return because(ErrorCode::denied, fmt::format("{} (is it executable, and no folder?)", std::strerror(error)));
    case EAGAIN:
    case ENOMEM:
      return because(ErrorCode::unavailable, std::strerror(error));
    default:
      return because(ErrorCode::invalid, std::strerror(error));
  }
}

// In the child: nothing here may allocate, other threads may have held the heap's lock.
[[noreturn]] void run_child(int start_pipe, int error_pipe, char* const* argv, char* const* envp, const sigset_t& mask,
                            pid_t parent) {
  char word = 0;
  ssize_t n = 0;
  do {
    n = ::read(start_pipe, &word, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) ::_exit(127);  // the parent ended or gave it up
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execvpe(argv[0], argv, envp);
  const int error = errno;
  (void)!::write(error_pipe, &error, sizeof error);
  ::_exit(127);
}

// An ignored SIGCHLD would leave nothing to wait for.
void keep_ended_children() {
  struct sigaction action{};
  ::sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler != SIG_IGN) return;
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);
}

// What came together with the end of the program (Ctrl-C ends it, and waits for us): it has done its work.
void forget_pending(const sigset_t& signals) {
  const timespec at_once{};
  while (::sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
}

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::unavailable, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

Result<StoppedProgram> StoppedProgram::start(const Program& program) {
  if (program.argv.empty() || program.argv.front().empty())
    return fail(ErrorCode::invalid, "no program is named to start");
  std::vector<std::string> words = program.argv, environment = environment_with(program.envs);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(environment);
  Pipe start = TRY(make_pipe()), error = TRY(make_pipe());

  StoppedProgram stopped;
  stopped.name_ = program.argv.front();
  stopped.foreground_group_ = own_foreground_group();
  stopped.passed_on_ = signals_to_pass_on();
  sigset_t blocked = stopped.passed_on_;
  sigaddset(&blocked, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &stopped.mask_before_);
  stopped.signals_blocked_ = true;
  keep_ended_children();

  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(ErrorCode::unavailable, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pid == 0) {
    start.write.close();
    run_child(start.read.get(), error.write.get(), argv.data(), envp.data(), stopped.mask_before_, parent);
  }
  stopped.pid_ = pid;
  stopped.start_pipe_ = std::move(start.write);
  stopped.error_pipe_ = std::move(error.read);
  return stopped;
}

Result<void> StoppedProgram::go() {
  {
    const WithoutPipeSignal guard;  // the child may have been killed meanwhile: wait() tells
    const char word = 1;
    (void)!::write(start_pipe_.get(), &word, 1);
  }
  start_pipe_.close();
  int error = 0;
  ssize_t n = 0;
  do {
    n = ::read(error_pipe_.get(), &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  error_pipe_.close();
  started_ = true;
  if (n != sizeof error) return {};  // closed by exec
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return std::unexpected(exec_error(name_, error));
}

Result<int> StoppedProgram::wait() {
  if (pid_ == 0) return fail(ErrorCode::internal, "no program was started that could be waited for");
  sigset_t awaited = passed_on_;
  sigaddset(&awaited, SIGCHLD);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, WNOHANG | WUNTRACED);
    if (ended < 0 && errno != EINTR) {
      const int error = errno;
      pid_ = 0;
      return fail(ErrorCode::unavailable, fmt::format("cannot wait for {}: {}", quote(name_), std::strerror(error)));
    }
    if (ended == pid_ && WIFSTOPPED(status)) {
      ::raise(SIGSTOP);
      ::kill(pid_, SIGCONT);  // we were continued
      continue;
    }
    if (ended == pid_) {
      pid_ = 0;
      take_terminal_back(foreground_group_);
      forget_pending(awaited);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&awaited, &info);
    // The kernel's own come from the terminal, whose whole foreground group got them.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) ::kill(pid_, signal);
  }
}

StoppedProgram::StoppedProgram(StoppedProgram&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, 0)),
      start_pipe_(std::move(other.start_pipe_)),
      error_pipe_(std::move(other.error_pipe_)),
      signals_blocked_(std::exchange(other.signals_blocked_, false)),
      started_(other.started_),
      mask_before_(other.mask_before_),
      passed_on_(other.passed_on_),
      foreground_group_(other.foreground_group_) {}

void StoppedProgram::end_unstarted() {
  start_pipe_.close();  // it reads the end and exits
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

StoppedProgram::~StoppedProgram() {
  if (pid_ > 0 && !started_) end_unstarted();
  if (signals_blocked_) ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

}  // namespace partita::deliver
