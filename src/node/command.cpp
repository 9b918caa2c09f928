#include "node/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"
#include "node/signals.h"

extern "C" char** environ;  // NOLINT: POSIX

namespace partita::node {
namespace {

constexpr std::size_t kOutputKept = 16u << 10;
constexpr std::size_t kLinesTold = 12;
constexpr auto kTimeToEnd = std::chrono::seconds(5);
constexpr std::size_t kPipeBytes = 1u << 20;  // the largest pipe that the kernel gives
using SteadyTime = std::chrono::steady_clock::time_point;

struct Started {
  pid_t pid = -1;
  int output = -1;  // read end of its standard output and error
};

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    if (std::ranges::none_of(added, [&](const auto& a) { return a.first == name; })) result.emplace_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Returns an errno.
int spawn(const Command& command, int output, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (!command.workdir.empty()) posix_spawn_file_actions_addchdir_np(&actions, command.workdir.c_str());
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = environment_with(command.envs);
  const int error =
      posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, pointers(argv).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

Result<Started> start(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) return fail(ErrorCode::invalid, "no command is given");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::internal, fmt::format("pipe: {}", std::strerror(errno)));
  Started started{-1, ends[0]};
  const int error = spawn(command, ends[1], started.pid);
  close(ends[1]);
  if (error == 0) return started;
  close(ends[0]);
  const auto code = error == ENOENT   ? ErrorCode::not_found
                    : error == EACCES ? ErrorCode::denied
                                      : ErrorCode::unavailable;
  return fail(code, fmt::format("{}: cannot be started: {}", command.argv[0], std::strerror(error)));
}

// Takes what is there, but no more than a pipe holds: who writes without end must not keep us from looking at the time.
// False at the end of the output.
bool drain(int fd, std::string& output) {
  std::array<char, 4096> buffer{};
  for (std::size_t taken = 0; taken < kPipeBytes;) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    taken += static_cast<std::size_t>(size);
    output.append(buffer.data(), static_cast<std::size_t>(size));
    if (output.size() > 2 * kOutputKept) output.erase(0, output.size() - kOutputKept);
  }
  return true;
}

int milliseconds_until(SteadyTime end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 60'000));
}

struct Ended {
  std::optional<int> status;     // nullopt: it was killed at the timeout
  std::string_view interrupted;  // "SIGINT": asked to end because of that
};

// Waits until the process ends, writes or must go: for pidfd, its output, a stop signal.
class Watch {
 public:
  Watch(const Started& started, bool stoppable)
      : pidfd_(static_cast<int>(syscall(SYS_pidfd_open, started.pid, 0))),
        signals_(stoppable ? signalfd(-1, &stop_signals(), SFD_CLOEXEC) : -1),
        fds_{pollfd{pidfd_, POLLIN, 0}, pollfd{started.output, POLLIN, 0}, pollfd{signals_, POLLIN, 0}} {
    fcntl(started.output, F_SETFL, O_NONBLOCK);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (pidfd_ >= 0) close(pidfd_);
    if (signals_ >= 0) close(signals_);
  }

  // True when a stop signal has come; once.
  bool wait(int milliseconds, std::string& output) {
    poll(fds_.data(), fds_.size(), pidfd_ < 0 ? std::min(milliseconds, 10) : milliseconds);
    if (fds_[1].revents != 0 && !drain(fds_[1].fd, output)) fds_[1].fd = -1;
    if (fds_[2].revents == 0) return false;
    fds_[2].fd = -1;
    return true;
  }

 private:
  int pidfd_, signals_;
  std::array<pollfd, 3> fds_;
};

Ended wait_for(const Started& started, SteadyTime end, bool stoppable, std::string& output) {
  Watch watch(started, stoppable);
  Ended ended;
  while (true) {
    int raw = 0;
    if (waitpid(started.pid, &raw, WNOHANG) == started.pid) {
      ended.status = raw;
      break;
    }
    const int left = milliseconds_until(end);
    if (left == 0) break;
    if (!watch.wait(left, output)) continue;
    ended.interrupted = waiting_signal();
    kill(-started.pid, SIGTERM);
    end = std::min(end, std::chrono::steady_clock::now() + kTimeToEnd);
  }
  if (!ended.status) {
    kill(-started.pid, SIGKILL);
    waitpid(started.pid, nullptr, 0);
  }
  drain(started.output, output);
  return ended;
}

std::string failure_of(const Ended& ended, std::chrono::milliseconds timeout) {
  const auto& status = ended.status;
  if (!ended.interrupted.empty()) return fmt::format("interrupted by {}", ended.interrupted);
  if (!status) return fmt::format("it did not end within {} ms and was killed", timeout.count());
  if (WIFSIGNALED(*status)) return fmt::format("killed by signal {}", WTERMSIG(*status));
  return WEXITSTATUS(*status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(*status));
}

}  // namespace

Result<Outcome> run_command(const Command& command) {
  const SteadyTime end = std::chrono::steady_clock::now() + command.timeout;
  const Started started = TRY(start(command));
  Outcome outcome{join(command.argv, " "), "", ""};
  outcome.failure = failure_of(wait_for(started, end, command.stoppable, outcome.output), command.timeout);
  close(started.output);
  return outcome;
}

Result<void> in_error(std::string_view what, ErrorCode code, Result<Outcome> outcome) {
  if (!outcome) return std::unexpected(in_context(what, std::move(outcome).error()));
  if (outcome->failure.empty()) return {};
  std::vector<std::string> details;
  for (std::string& line : split(outcome->output, '\n'))
    if (!trim(line).empty()) details.push_back(std::move(line));
  if (details.size() > kLinesTold) details.erase(details.begin(), details.end() - kLinesTold);
  return fail(code, fmt::format("{}: \"{}\" failed: {}", what, outcome->shown, outcome->failure), std::move(details));
}

}  // namespace partita::node
