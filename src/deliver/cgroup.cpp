#include "deliver/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "base/text.h"
#include "deliver/descriptor.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr int kRemoveTries = 200;  // 1 ms each

bool has_magic(const fs::path& folder, unsigned long magic) {
  struct statfs system{};
  return ::statfs(folder.c_str(), &system) == 0 && static_cast<unsigned long>(system.f_type) == magic;
}

int make_folder(const fs::path& folder) { return ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST ? 0 : errno; }

}  // namespace

int write_control(const fs::path& file, std::string_view text) {
  const Descriptor control(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (control.get() < 0) return errno;
  ssize_t n = 0;
  do {
    n = ::write(control.get(), text.data(), text.size());
  } while (n < 0 && errno == EINTR);
  return n < 0 ? errno : 0;
}

std::string read_control(const fs::path& file) {
  const Descriptor control(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[4096];
  while (control.get() >= 0) {
    const ssize_t n = ::read(control.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

Error control_error(const fs::path& file, std::string_view text, int error) {
  const ErrorCode code =
      error == EACCES || error == EPERM || error == EROFS ? ErrorCode::denied : ErrorCode::unavailable;
  return Error{code, fmt::format("cannot write {} to {}: {}", quote(text), file.string(), std::strerror(error)), {}};
}

Result<void> make_group(const fs::path& root, const std::string& prefix, const std::string& name) {
  int error = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    error = make_folder(root / prefix);
    if (error == 0) error = make_folder(root / prefix / name);
    if (error != ENOENT) break;
  }
  if (error == 0) return {};
  const ErrorCode code =
      error == EACCES || error == EPERM || error == EROFS ? ErrorCode::denied : ErrorCode::unavailable;
  return fail(
      code, fmt::format("cannot make the control group {}: {}", (root / prefix / name).string(), std::strerror(error)));
}

Result<void> remove_group(const fs::path& group) {
  for (const fs::path& inner : groups_in(group)) TRY_VOID(remove_group(inner));
  for (int attempt = 0;; ++attempt) {
    if (::rmdir(group.c_str()) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY)
      return fail(ErrorCode::unavailable,
                  fmt::format("cannot remove the control group {}: {}", group.string(), std::strerror(errno)));
    std::set<pid_t> left;
    collect_processes(group, left);
    if (!left.empty() || attempt == kRemoveTries)
      return fail(ErrorCode::busy, fmt::format("the control group {} is in use", group.string()));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::vector<fs::path> groups_in(const fs::path& group) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(group, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code none; entry->is_directory(none)) found.push_back(entry->path());
  return found;
}

void collect_processes(const fs::path& group, std::set<pid_t>& into) {
  const std::string text = read_control(group / "cgroup.procs");
  for (const std::string& line : split(text, '\n')) {
    pid_t pid = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), pid).ec == std::errc() && pid > 0) into.insert(pid);
  }
  for (const fs::path& inner : groups_in(group)) collect_processes(inner, into);
}

bool is_cgroup1(const fs::path& folder) { return has_magic(folder, CGROUP_SUPER_MAGIC); }
bool is_cgroup2(const fs::path& folder) { return has_magic(folder, CGROUP2_SUPER_MAGIC); }

}  // namespace partita::deliver
