#include "node/lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "node/process_id.h"

namespace partita::node {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);
constexpr auto kLook = std::chrono::milliseconds(500);
constexpr std::size_t kLongestCommand = 200;

std::filesystem::path told_file(std::filesystem::path lock) { return lock.replace_extension("holder"); }

struct Told {
  LockHolder holder;
  std::uint64_t start_time = 0;
};

// "4711 123456 partita serve", and in a second line the socket.
std::optional<Told> read_told(const std::filesystem::path& lock) {
  std::ifstream file(told_file(lock));
  Told tells;
  if (!(file >> tells.holder.pid >> tells.start_time)) return std::nullopt;
  file.get();
  std::string socket;
  std::getline(file, tells.holder.command);
  std::getline(file, socket);
  tells.holder.socket = socket;
  return tells;
}

std::optional<LockHolder> read_holder(const std::filesystem::path& lock) {
  auto tells = read_told(lock);
  if (!tells) return std::nullopt;
  return std::move(tells->holder);
}

// In one step, so that nobody reads a half. Only who asks needs it: a disk that is full must not stop the operation.
void write_told(const std::filesystem::path& lock, const std::string& command, const std::filesystem::path& socket) {
  constexpr mode_t kEveryoneReads = 0644;
  const auto file = told_file(lock);
  const std::string making = file.string() + ".new";
  const auto self = process_facts(getpid());
  std::string text =
      fmt::format("{} {} {}", getpid(), self ? self->id.start_time : 0, command.substr(0, kLongestCommand));
  if (!socket.empty()) text += "\n" + socket.string();
  const int fd = open(making.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kEveryoneReads);
  if (fd < 0) return;
  const bool written = fchmod(fd, kEveryoneReads) == 0 && write(fd, text.data(), text.size()) == std::ssize(text);
  close(fd);
  if (!written || rename(making.c_str(), file.c_str()) != 0) unlink(making.c_str());
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
  if (stands()) unlink(told_file(file_).c_str());
  close(fd_);
}

bool Lock::stands() const { return is_at(file_, fd_); }

Result<Lock> take_lock(const std::filesystem::path& file, const std::string& command, bool no_wait,
                       std::chrono::milliseconds timeout, Progress& progress, const std::filesystem::path& socket) {
  constexpr mode_t kOwnerAlone = 0600;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerAlone);
  if (fd < 0) {
    const auto code = errno == EACCES || errno == EPERM || errno == EROFS ? ErrorCode::denied : ErrorCode::unavailable;
    return fail(code, fmt::format("{}: cannot open the node's lock: {}", file.string(), std::strerror(errno)));
  }
  (void)fchmod(fd, kOwnerAlone);  // one that an earlier version made
  std::string waiting_for;
  const auto start = std::chrono::steady_clock::now();
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const auto tells = read_holder(file);
    const std::string holder = told(tells);
    if (tells && !tells->socket.empty()) {
      close(fd);
      return fail(ErrorCode::unavailable,
                  fmt::format("{} holds the node's lock {} for as long as it runs: it is a daemon, which answers at {}",
                              holder, file.string(), tells->socket.string()));
    }
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
  write_told(file, command, socket);
  return Lock(fd, file);
}

std::optional<LockHolder> lock_holder(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    auto tells = errno == EACCES ? read_told(file) : std::nullopt;
    if (!tells || !is_alive({tells->holder.pid, tells->start_time})) return std::nullopt;
    return std::move(tells->holder);
  }
  std::optional<LockHolder> holder;
  if (flock(fd, LOCK_SH | LOCK_NB) != 0) holder = read_holder(file).value_or(LockHolder{0, "not told", {}});
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
