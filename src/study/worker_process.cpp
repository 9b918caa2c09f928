#include "study/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/text.h"

extern char** environ;

namespace partita::study {
namespace {

struct Pipe {
  int ours = -1, theirs = -1;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(ErrorCode::unavailable, fmt::format("pipe: {}", std::strerror(errno)));
  return Pipe{ends[0], ends[1]};
}

std::vector<std::string> variables_with(const std::vector<std::pair<std::string, std::string>>& extra) {
  std::vector<std::string> out;
  for (char** at = environ; *at; ++at) out.emplace_back(*at);
  for (const auto& [key, value] : extra) {
    std::erase_if(out, [&](const std::string& v) { return v.starts_with(key + "="); });
    out.push_back(key + "=" + value);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// A group of its own, no signal blocked or ignored that we block or ignore.
int spawn(pid_t& pid, std::vector<std::string> words, std::vector<std::string> variables, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&usual, signal);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  const auto arguments = pointers(words), environment = pointers(variables);
  const int error = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

Result<void> WorkerProcess::start(const std::vector<std::string>& command,
                                  const std::vector<std::pair<std::string, std::string>>& extra) {
  const Pipe output = TRY(make_pipe());
  output_.watch(output.ours);
  const auto errors = make_pipe();
  if (!errors) {
    close(output.theirs);
    return std::unexpected(errors.error());
  }
  errors_.watch(errors->ours);
  const int error = spawn(group_, command, variables_with(extra), output.theirs, errors->theirs);
  close(output.theirs);
  close(errors->theirs);
  if (error == 0) return {};
  group_ = -1;
  return fail(ErrorCode::invalid, fmt::format("worker {}: cannot be started: {}", command[0], std::strerror(error)));
}

void WorkerProcess::read_errors() {
  for (const std::string& line : errors_.lines())
    if (!trim(line).empty()) last_words_ = one_line(trim(line));
}

bool WorkerProcess::running() {
  if (group_ <= 0 || status_) return false;
  int status = 0;
  if (waitpid(group_, &status, WNOHANG) == group_) status_ = status;
  return !status_;
}

void WorkerProcess::terminate() {
  if (!running()) return;
  ended_here_ = true;
  kill(-group_, SIGTERM);
}

void WorkerProcess::end() {
  if (group_ <= 0) return;
  if (running()) ended_here_ = true;
  kill(-group_, SIGKILL);
  int status = 0;
  if (!status_ && waitpid(group_, &status, 0) == group_) status_ = status;
  output_.close();
  read_errors();
  errors_.close();
  group_ = -1;
}

std::optional<std::string> WorkerProcess::trouble() const {
  if (!status_ || ended_here_ || *status_ == 0) return std::nullopt;
  std::string out = WIFEXITED(*status_) ? fmt::format("ended with status {}", WEXITSTATUS(*status_))
                                        : fmt::format("was killed by signal {} ({})", WTERMSIG(*status_),
                                                      strsignal(WTERMSIG(*status_)));
  if (!last_words_.empty()) out += ": " + last_words_;
  return out;
}

}  // namespace partita::study
