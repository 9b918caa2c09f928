#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace partita {

namespace {

Error system_error(std::string_view doing, const std::filesystem::path& path, int error) {
  ErrorCode code = ErrorCode::invalid;
  if (error == ENOENT || error == ENOTDIR) code = ErrorCode::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = ErrorCode::denied;
  if (error == ENOSPC || error == EIO || error == EDQUOT) code = ErrorCode::unavailable;
  return Error{code, fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(error)), {}};
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
  if (!standard_input && pipe) ::fcntl(file.get(), F_SETFL, 0);  // "<(command)": wait for its text
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
  const std::string temporary = path.string() + ".XXXXXX";
  std::string name = temporary;
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) return std::unexpected(system_error("write", path, errno));
  const Descriptor file(fd);
  const auto give_up = [&]() {
    const int error = errno;
    ::unlink(name.c_str());
    return std::unexpected(system_error("write", path, error));
  };
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up();
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fchmod(fd, mode) != 0 || ::fsync(fd) != 0 || ::rename(name.c_str(), path.c_str()) != 0) return give_up();
  return {};
}

}  // namespace partita
