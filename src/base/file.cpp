#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace partita {

namespace {

constexpr int kWriterTimeoutMs = 10'000;

Error system_error(std::string_view doing, const std::filesystem::path& path, int error) {
  ErrorCode code = ErrorCode::invalid;
  if (error == ENOENT || error == ENOTDIR) code = ErrorCode::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = ErrorCode::denied;
  if (error == ENOSPC || error == EIO || error == EDQUOT) code = ErrorCode::unavailable;
  const std::string shown = path.empty() ? "\"\"" : path == "-" ? "standard input" : path.string();
  return Error{code, fmt::format("cannot {} {}: {}", doing, shown, std::strerror(error)), {}};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ > 2) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A named pipe reads as ended until its first writer comes; poll() waits for that one. False: nobody came.
bool wait_for_writer(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, kWriterTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

Result<void> write_all(int fd, std::string_view text, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(system_error("write", path, errno));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

// Pipes, terminals and other devices take the text as it comes: a file renamed to their place would remove them.
Result<void> write_in_place(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) return std::unexpected(system_error("write", path, errno));
  ::fcntl(file.get(), F_SETFL, 0);
  return write_all(file.get(), text, path);
}

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const bool standard_input = path == "-";
  const Descriptor file(standard_input ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::unexpected(system_error("read", path, errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(system_error("read", path, errno));
  const bool pipe = S_ISFIFO(status.st_mode);
  if (!standard_input && !S_ISREG(status.st_mode) && !pipe)
    return fail(ErrorCode::invalid, fmt::format("cannot read {}: expected a file", path.string()));
  if (!standard_input && pipe) {  // "<(command)": wait for its text
    ::fcntl(file.get(), F_SETFL, 0);
    if (!wait_for_writer(file.get()))
      return fail(ErrorCode::invalid, fmt::format("cannot read {}: nothing writes to this pipe", path.string()));
  }
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::unexpected(system_error("read", path, errno));
    if (n == 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
    if (text.size() > limit_bytes)
      return fail(ErrorCode::invalid,
                  fmt::format("{} is larger than {} MiB", standard_input ? "standard input" : path.string(),
                              limit_bytes >> 20));
  }
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text, unsigned mode) {
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(there)) return std::unexpected(system_error("write", path, EISDIR));
  const bool exists = std::filesystem::exists(there);
  if (exists && !std::filesystem::is_regular_file(there)) return write_in_place(path, text);
  // A symbolic link stays: what it names is replaced.
  const auto target = exists ? std::filesystem::canonical(path, none) : path;

  std::string name = target.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) return std::unexpected(system_error("write", path, errno));
  auto written = write_all(file.get(), text, path);
  if (written &&
      (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 || ::rename(name.c_str(), target.c_str()) != 0))
    written = std::unexpected(system_error("write", path, errno));
  if (!written) ::unlink(name.c_str());
  return written;
}

Result<void> can_write_file(const std::filesystem::path& path) {
  if (path.empty()) return fail(ErrorCode::invalid, "expected the path of a file to write, found \"\"");
  std::error_code none;
  const auto there = std::filesystem::status(path, none);
  if (std::filesystem::is_directory(there)) return std::unexpected(system_error("write", path, EISDIR));
  const bool exists = std::filesystem::exists(there);
  // A regular file is replaced, which its folder must allow; a pipe or device is opened.
  const bool opened = exists && !std::filesystem::is_regular_file(there);
  const auto target = exists && !opened ? std::filesystem::canonical(path, none) : path;
  const auto asked = opened ? path : target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (!opened && std::filesystem::exists(asked, none) && !std::filesystem::is_directory(asked, none))
    return std::unexpected(system_error("write", path, ENOTDIR));
  if (::access(asked.c_str(), opened ? W_OK : W_OK | X_OK) != 0)
    return std::unexpected(system_error("write", path, errno));
  return {};
}

}  // namespace partita
