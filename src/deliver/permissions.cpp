#include "deliver/permissions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "deliver/descriptor.h"

namespace partita::deliver {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kModify = "DeviceFileModify: ";
constexpr mode_t kOwnerOnly = 0600;

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0;
};

Error system_error(std::string_view doing, const fs::path& path, int error) {
  ErrorCode code = ErrorCode::unavailable;
  if (error == ENOENT) code = ErrorCode::not_found;
  if (error == EACCES || error == EPERM || error == EROFS) code = ErrorCode::denied;
  return Error{code, fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(error)), {}};
}

// The number after "KEY: " in a capability's file.
std::optional<int> number_after(std::string_view text, std::string_view key) {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + key.size());
  int number = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

// The kernel module takes the line alone; the file of an emulated node is text, whose one digit is changed.
Result<void> write_modify_zero(const fs::path& access, std::string_view text) {
  struct statfs system{};
  const bool kernel = ::statfs(access.c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  Descriptor file(::open(access.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == EACCES && !kernel &&
      ::chmod(access.c_str(), 0644) == 0) {  // our own, for reading only
    file = Descriptor(::open(access.c_str(), O_WRONLY | O_CLOEXEC));
    const int error = errno;
    ::chmod(access.c_str(), 0444);
    errno = error;
  }
  if (file.get() < 0) return std::unexpected(system_error("write", access, errno));
  const std::string line = fmt::format("{}0\n", kModify);
  const auto digit = static_cast<off_t>(text.find(kModify) + kModify.size());
  const ssize_t written = kernel ? ::write(file.get(), line.data(), line.size()) : ::pwrite(file.get(), "0", 1, digit);
  if (written < 0) return std::unexpected(system_error("write", access, errno));
  return {};
}

// From here on the driver's helper leaves the node alone. Gives the node's minor.
Result<int> claim(const fs::path& access) {
  const std::string text = TRY(read_file(access, 4096));
  const auto minor = number_after(text, "DeviceFileMinor: "), modify = number_after(text, kModify);
  if (!minor || !modify)
    return fail(ErrorCode::unavailable, fmt::format("{} does not tell DeviceFileMinor and DeviceFileModify; "
                                                    "is this the nvidia driver's?",
                                                    access.string()));
  if (*modify != 0) TRY_VOID(write_modify_zero(access, text));
  return *minor;
}

// What /proc/devices beside the access file gives nvidia-caps.
Result<int> capability_major(const fs::path& access) {
  const std::string path = access.string();
  const auto at = path.find("/proc/driver/");
  const fs::path devices = (at == std::string::npos ? "" : path.substr(0, at)) + "/proc/devices";
  const std::string text = TRY(read_file(devices));
  const auto line = text.find(" nvidia-caps\n");
  if (line == std::string::npos)
    return fail(ErrorCode::unavailable, fmt::format("{} does not list nvidia-caps", devices.string()));
  const auto start = text.rfind('\n', line) + 1;  // npos + 1 is 0: the first line
  int major = 0;
  const auto first = text.find_first_not_of(' ', start);
  if (std::from_chars(text.data() + first, text.data() + line, major).ec != std::errc())
    return fail(ErrorCode::unavailable, fmt::format("{}: nvidia-caps has no number", devices.string()));
  return major;
}

Descriptor open_node(const fs::path& node) { return Descriptor(::open(node.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)); }

Result<void> make_node(const CapabilityNode& node, int minor) {
  const int major = TRY(capability_major(node.access));
  const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  if (::mknod(node.node.c_str(), S_IFCHR | kOwnerOnly, device) != 0 && errno != EEXIST)
    return std::unexpected(system_error("make", node.node, errno));
  return {};
}

// An opened node, made if it was absent, or made anew if it is of another device than the driver says now (a node that
// outlived a reload of the driver). Emulated nodes without root are plain files.
Result<Descriptor> open_current_node(const CapabilityNode& node, int minor) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Descriptor file = open_node(node.node);
    if (file.get() < 0 && errno != ENOENT) return std::unexpected(system_error("open", node.node, errno));
    if (file.get() >= 0) {
      struct stat status{};
      if (::fstat(file.get(), &status) != 0) return std::unexpected(system_error("look at", node.node, errno));
      if (S_ISREG(status.st_mode) && ::geteuid() != 0) return file;
      if (S_ISCHR(status.st_mode) && ::minor(status.st_rdev) == static_cast<unsigned>(minor) &&
          ::major(status.st_rdev) == static_cast<unsigned>(TRY(capability_major(node.access))))
        return file;
      if (::unlink(node.node.c_str()) != 0) return std::unexpected(system_error("replace", node.node, errno));
    }
    TRY_VOID(make_node(node, minor));
  }
  return fail(ErrorCode::unavailable, fmt::format("{} is not the device with minor {} that {} tells of, and comes back",
                                                  node.node.string(), minor, node.access.string()));
}

Result<Owner> owner_of(const Descriptor& file, const fs::path& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return std::unexpected(system_error("look at", path, errno));
  return Owner{status.st_uid, status.st_gid, static_cast<mode_t>(status.st_mode & 07777)};
}

// Never both the new owner and a wider mode at once. The mode is set last in any case: until then the former owner may
// have changed it, or added an access list, which the mode of the group then masks.
Result<void> set_owner(const Descriptor& file, const fs::path& path, const Owner& wanted) {
  const Owner now = TRY(owner_of(file, path));
  const std::string by_number = fmt::format("/proc/self/fd/{}", file.get());  // fchmod refuses O_PATH
  const mode_t narrow = now.mode & wanted.mode;
  if (narrow != now.mode && ::chmod(by_number.c_str(), narrow) != 0)
    return std::unexpected(system_error("change the mode of", path, errno));
  if ((now.uid != wanted.uid || now.gid != wanted.gid) &&
      ::fchownat(file.get(), "", wanted.uid, wanted.gid, AT_EMPTY_PATH) != 0)
    return std::unexpected(system_error("change the owner of", path, errno));
  if (::chmod(by_number.c_str(), wanted.mode) != 0)
    return std::unexpected(system_error("change the mode of", path, errno));
  return {};
}

struct Undo {
  Descriptor file;
  fs::path path;
  Owner before;
};

Result<Undo> give_one(const CapabilityNode& node, const Owner& owner) {
  const int minor = TRY(claim(node.access));
  Descriptor file = TRY(open_current_node(node, minor));
  const Owner before = TRY(owner_of(file, node.node));
  if (auto set = set_owner(file, node.node, owner); !set) {
    (void)set_owner(file, node.node, before);
    return std::unexpected(set.error());
  }
  return Undo{std::move(file), node.node, before};
}

Result<void> take_back_one(const CapabilityNode& node) {
  std::error_code error;
  if (fs::exists(node.access, error)) TRY_VOID(claim(node.access));
  const Descriptor file = open_node(node.node);
  if (file.get() < 0 && errno == ENOENT) return {};
  if (file.get() < 0) return std::unexpected(system_error("open", node.node, errno));
  // Without root (emulated nodes only) nothing can be given to root: the owner stays.
  return set_owner(file, node.node, Owner{::geteuid(), ::getegid(), kOwnerOnly});
}

}  // namespace

Result<void> give(std::span<const CapabilityNode> nodes, uid_t uid, gid_t gid) {
  std::vector<Undo> done;
  for (const CapabilityNode& node : nodes) {
    auto given = give_one(node, Owner{uid, gid, kOwnerOnly});
    if (!given) {
      for (const Undo& undo : done) (void)set_owner(undo.file, undo.path, undo.before);
      return std::unexpected(given.error());
    }
    done.push_back(std::move(*given));
  }
  return {};
}

Result<void> take_back(std::span<const CapabilityNode> nodes) {
  Result<void> first;  // each is tried, however the others end
  for (const CapabilityNode& node : nodes)
    if (auto taken = take_back_one(node); !taken && first) first = taken;
  return first;
}

}  // namespace partita::deliver
