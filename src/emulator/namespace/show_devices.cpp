#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "emulator/namespace/places.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

Result<void> make_file(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return cannot_show("make", path, errno);
  ::close(fd);
  return {};
}

Result<void> make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return cannot_show("make", path, errno);
  return {};
}

// A device node of its own, so that the list of mounts stays short; false where that is not allowed.
bool copy_device(const fs::path& to, const struct stat& entry) {
  return ::mknod(to.c_str(), entry.st_mode, entry.st_rdev) == 0 &&
         ::chown(to.c_str(), entry.st_uid, entry.st_gid) == 0 && ::chmod(to.c_str(), entry.st_mode & 07777) == 0;
}

// One entry of this machine's /dev. What is mounted there (pts, shm, a container's console) is bound.
Result<void> show_entry(const fs::path& from, const fs::path& to, dev_t file_system) {
  struct stat entry{};
  if (::lstat(from.c_str(), &entry) != 0) return {};  // gone meanwhile
  std::error_code error;
  if (S_ISLNK(entry.st_mode)) {
    fs::copy_symlink(from, to, error);
    return {};
  }
  if (S_ISDIR(entry.st_mode)) {
    TRY_VOID(make_folder(to));
    return bind(from, to);
  }
  const bool device = S_ISCHR(entry.st_mode) || S_ISBLK(entry.st_mode);
  if (device && entry.st_dev == file_system && copy_device(to, entry)) return {};
  ::unlink(to.c_str());
  TRY_VOID(make_file(to));
  return bind(from, to);
}

class OpenFolder {
 public:
  explicit OpenFolder(const char* path) : fd_(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  ~OpenFolder() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int number() const { return fd_; }
  // Names what was there before something was mounted over it.
  fs::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

Result<void> show_node(const fs::path& root, const std::string& name, BindAs as) {
  const fs::path from = root / "dev" / name, to = fs::path("/dev") / name;
  struct stat entry{};
  if (::stat(from.c_str(), &entry) != 0) return {};
  TRY_VOID(S_ISDIR(entry.st_mode) ? make_folder(to) : make_file(to));
  return bind(from, to, as);
}

}  // namespace

Result<void> show_devices(const fs::path& root, const NodeSpec& spec, BindAs as) {
  const OpenFolder before("/dev");
  struct stat folder{};
  if (!before || ::fstat(before.number(), &folder) != 0) return cannot_show("open", "/dev", errno);
  TRY_VOID(mount_memory("/dev"));
  std::error_code error;
  for (fs::directory_iterator entry(before.path(), error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    if (!name.string().starts_with("nvidia")) TRY_VOID(show_entry(before.path() / name, "/dev" / name, folder.st_dev));
  }
  if (error) return cannot_show("read", "/dev", error.value());
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia-caps"}) TRY_VOID(show_node(root, name, as));
  for (const GpuSpec& gpu : spec.gpus) TRY_VOID(show_node(root, "nvidia" + std::to_string(gpu.minor), as));
  return {};
}

}  // namespace partita::emulator
