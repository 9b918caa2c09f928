// partita-worker-resnet: a command for `partita study --measure`.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "resnet/work.h"

namespace {

using namespace partita;
using namespace partita::resnet;

volatile sig_atomic_t stop_asked = 0;

void ask_stop(int) { stop_asked = 1; }

void watch_signals() {
  struct sigaction action = {};
  action.sa_handler = ask_stop;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one ends it at once
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// A bar would need an end; a line that is written over tells of the last interval.
class Progress {
 public:
  void tell(const std::string& text) {
    if (!on_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    drawn_ = true;
  }
  void clear() {
    if (drawn_) fmt::print(stderr, "\r\033[K");
    drawn_ = false;
  }

 private:
  bool on_ = isatty(STDERR_FILENO) == 1, drawn_ = false;
};

Result<void> print_line(const std::string& line) {
  errno = 0;
  if (std::fputs((line + '\n').c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return {};
  return fail(ErrorCode::unavailable, fmt::format("standard output: {}", std::strerror(errno)));
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Result<void> run(const std::vector<std::string>& words, Progress& progress) {
  const Options options = TRY(read_options(words, [](const std::string& key) -> std::optional<std::string> {
    const char* value = std::getenv(key.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  }));
  if (options.help) {
    fmt::print("{}", kUsage);
    return {};
  }
  watch_signals();
  auto opened = open_job(options.job);
  if (const auto* trouble = std::get_if<Trouble>(&opened)) return std::unexpected(to_error(*trouble));
  const bool over_it = isatty(STDOUT_FILENO) == 1;
  const Teller teller{.line =
                          [&](const std::string& line) {
                            if (over_it) progress.clear();
                            return print_line(line);
                          },
                      .progress = [&](const std::string& text) { progress.tell(text); },
                      .stop = [] { return stop_asked != 0; },
                      .now_s = now_s};
  return work(options, *std::get<std::unique_ptr<Job>>(opened), teller);
}

}  // namespace

int main(int count, char** words) {
  Progress progress;
  const auto done = run({words + 1, words + count}, progress);
  progress.clear();
  if (done) return 0;
  fmt::print(stderr, "partita-worker-resnet: {}\n", done.error().message);
  return exit_status(done.error().code);
}
