#include "node/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <fstream>
#include <thread>

namespace partita::node {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kLook = std::chrono::milliseconds(500);
constexpr std::size_t kLongestCommand = 200;

std::optional<LockHolder> read_holder(int fd) {
  std::array<char, kLongestCommand + PATH_MAX + 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  const std::string_view all(text.data(), static_cast<std::size_t>(size));
  LockHolder holder;
  const auto [rest, error] = std::from_chars(all.data(), all.data() + all.size(), holder.pid);
  if (error != std::errc{} || rest == all.data() + all.size()) return std::nullopt;
  const std::string_view told(rest + 1, all.data() + all.size());
  const auto line = told.find('\n');
  holder.command = told.substr(0, line);
  if (line != std::string_view::npos) holder.socket = told.substr(line + 1);
  return holder;
}

void write_holder(int fd, const std::string& command, const std::filesystem::path& socket) {
  std::string text = fmt::format("{} {}", getpid(), command.substr(0, kLongestCommand));
  if (!socket.empty()) text += "\n" + socket.string();
  // Only people read it: a disk that is full must not stop the operation.
  if (ftruncate(fd, 0) == 0) (void)!pwrite(fd, text.data(), text.size(), 0);
}

// The file at the path is still the one that is open: not removed with its folder, nor made anew.
bool is_at(const std::filesystem::path& file, int fd) {
  struct stat open_one{}, named{};
  return fstat(fd, &open_one) == 0 && stat(file.c_str(), &named) == 0 && open_one.st_ino == named.st_ino &&
         open_one.st_dev == named.st_dev;
}

std::string told(const std::optional<LockHolder>& holder) {
  return holder ? to_string(*holder) : std::string("another process");
}

}  // namespace

std::string to_string(const LockHolder& holder) { return fmt::format("pid {} ({})", holder.pid, holder.command); }

Lock::~Lock() {
  if (fd_ < 0) return;
  (void)!ftruncate(fd_, 0);
  close(fd_);
}

Result<Lock> take_lock(const std::filesystem::path& file, const std::string& command, bool no_wait,
                       std::chrono::milliseconds timeout, Progress& progress, const std::filesystem::path& socket) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    const auto code = errno == EACCES || errno == EPERM || errno == EROFS ? ErrorCode::denied : ErrorCode::unavailable;
    return fail(code, fmt::format("{}: cannot open the node's lock: {}", file.string(), std::strerror(errno)));
  }
  std::string waiting_for;
  const auto start = std::chrono::steady_clock::now();
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const auto tells = read_holder(fd);
    const std::string holder = told(tells);
    // Who only looks at the lock has it for a moment and tells nothing.
    const auto patience = !no_wait ? timeout : tells ? std::chrono::milliseconds(0) : kLook;
    if (std::chrono::steady_clock::now() >= start + patience) {
      close(fd);
      return fail(ErrorCode::unavailable,
                  fmt::format("{} holds the node's lock {}: {}", holder, file.string(),
                              no_wait ? "try again when it is done, or leave out --no-wait" : "gave up waiting"));
    }
    if (!no_wait && holder != waiting_for) progress.note(fmt::format("waiting for the lock held by {}", holder));
    waiting_for = holder;
    std::this_thread::sleep_for(kPoll);
  }
  if (!is_at(file, fd)) {
    close(fd);
    return fail(ErrorCode::unavailable,
                fmt::format("{} was removed while this waited for it: the node was stopped; try again", file.string()));
  }
  write_holder(fd, command, socket);
  return Lock(fd);
}

std::optional<LockHolder> lock_holder(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<LockHolder> holder;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
    holder = read_holder(fd);
    if (!holder) holder = LockHolder{0, "not told", {}};
  }
  close(fd);
  return holder;
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return text.substr(0, kLongestCommand);
}

}  // namespace partita::node
