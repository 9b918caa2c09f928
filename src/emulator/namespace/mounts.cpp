#include "emulator/namespace/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace partita::emulator {

std::unexpected<Error> cannot_show(std::string_view what, const std::filesystem::path& path, int error) {
  return fail(ErrorCode::unavailable, "cannot show the emulated node: " + std::string(what) + " " + path.string() +
                                          ": " + std::strerror(error));
}

Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to, BindAs as) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return cannot_show("bind " + from.string() + " to", to, errno);
  if (as == BindAs::is) return {};
  const unsigned long how = as == BindAs::read_only ? MS_RDONLY : MS_NODEV;
  if (::mount(nullptr, to.c_str(), nullptr, MS_REMOUNT | MS_BIND | how, nullptr) != 0)
    return cannot_show("protect", to, errno);
  return {};
}

Result<void> mount_memory(const std::filesystem::path& to) {
  if (::mount("partita", to.c_str(), "tmpfs", MS_NOSUID, "mode=0755") != 0)
    return cannot_show("mount a folder at", to, errno);
  return {};
}

Result<void> write_list(const std::filesystem::path& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
  if (fd < 0) return cannot_show("write", path, errno);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(fd, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    written += static_cast<std::size_t>(n);
  }
  const int error = errno;
  ::fchmod(fd, 0444);
  ::close(fd);
  if (written < text.size()) return cannot_show("write", path, error);
  return {};
}

}  // namespace partita::emulator
