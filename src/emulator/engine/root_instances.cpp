// The capability files and device nodes that come and go with instances.
//
// Folders that are not needed now wait in spare/ under their minor, with their access file: to move a folder costs a
// tenth of making one, a hundredth of removing one. A device node is a link to one that waits in spare/nodes: to make
// an inode costs three times as much as a link, and more the more were freed in the last seconds (ext4). A node whose
// owner, mode or access list was changed is not used again, so that nobody's permissions come back.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/engine/root_files.h"

namespace partita::emulator {

namespace {

constexpr unsigned kAllRead = 0444;

// A small file at once, unless it is there whole: one that was cut short is known by its size.
bool write_new(const std::string& path, std::string_view text, unsigned mode) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (info.st_size == static_cast<off_t>(text.size())) return true;
    ::unlink(path.c_str());
  }
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good = ::fchmod(fd, mode) == 0 && good;
  ::close(fd);
  return good;
}

// Numbers N of the entries PREFIX<N> of a folder ("gi7" with prefix "gi").
std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr) return numbers;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    if (std::isdigit(static_cast<unsigned char>(name[prefix.size()])) == 0) continue;
    numbers.push_back(std::atoi(name.data() + prefix.size()));
  }
  ::closedir(directory);
  return numbers;
}

// Is the node as it was made?
bool is_untouched(const std::string& node, unsigned mode) {
  struct stat info{};
  return ::lstat(node.c_str(), &info) == 0 && (info.st_mode & 07777) == mode && info.st_uid == ::geteuid() &&
         ::lgetxattr(node.c_str(), "system.posix_acl_access", nullptr, 0) < 0 && info.st_nlink >= 1;
}

}  // namespace

std::string RootFiles::mig_folder(int minor) const { return capabilities_ + "/gpu" + std::to_string(minor) + "/mig"; }

int RootFiles::minor_of(int gpu) const { return spec_.gpus[static_cast<std::size_t>(gpu)].minor; }

std::string RootFiles::spare_folder(int minor) const { return spare_.string() + '/' + std::to_string(minor); }

// The node goes first when a capability goes: a folder without its node is made whole or removed by the next turn, a
// node without its folder would be forgotten.
bool RootFiles::write_capability(const std::string& folder, int minor, unsigned mode) const {
  if (::rename(spare_folder(minor).c_str(), folder.c_str()) != 0 && ::mkdir(folder.c_str(), 0755) != 0 &&
      errno != EEXIST) {
    return false;
  }
  return write_capability_file(folder + "/access", minor, mode);
}

bool RootFiles::write_capability_file(const std::string& file, int minor, unsigned mode) const {
  const std::string text = "DeviceFileMinor: " + std::to_string(minor) + "\nDeviceFileMode: " + std::to_string(mode) +
                           "\nDeviceFileModify: 1\n";
  return write_new(file, text, mode) && make_capability_node(minor, mode);
}

bool RootFiles::make_capability_node(int minor, unsigned mode) const {
  const std::string number = std::to_string(minor), node = nodes_ + number, waiting = spare_nodes_ + '/' + number;
  if (::link(waiting.c_str(), node.c_str()) == 0) {
    if (is_untouched(node, mode)) return true;
    ::unlink(node.c_str());
    ::unlink(waiting.c_str());
  } else if (errno == EEXIST) {
    return true;  // of an instance that is there
  }
  if (!make_node(waiting, kCapsMajor, minor, mode)) return false;
  return ::link(waiting.c_str(), node.c_str()) == 0 || make_node(node, kCapsMajor, minor, mode);
}

bool RootFiles::remove_capability(const std::string& folder, int minor) const {
  ::unlink((nodes_ + std::to_string(minor)).c_str());
  if (::rename(folder.c_str(), spare_folder(minor).c_str()) == 0 || errno == ENOENT) return true;
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  return !error;
}

bool RootFiles::write_instances(int gpu, const GpuRecord& record) const {
  // What is there, as a record: the folders that a killed process left, whichever they are.
  const std::string mig = mig_folder(minor_of(gpu));
  bool good = true;
  for (const int gi : numbered_entries(mig, "gi")) {
    const std::string folder = mig + "/gi" + std::to_string(gi);
    const InstanceRecord* instance = record.instance(gi);
    for (const int ci : numbered_entries(folder, "ci")) {
      if (instance == nullptr || compute_of(*instance, ci) == nullptr) good = remove_compute(gpu, gi, ci) && good;
    }
    if (instance == nullptr) good = remove_instance(gpu, gi) && good;
  }
  for (std::size_t i = 0; i < record.instance_count; ++i)
    good = add_instance(gpu, record.instances[i], nullptr) && good;
  return good;
}

bool RootFiles::write_change(int gpu, const GpuRecord& before, const GpuRecord& after) const {
  bool good = true;
  for (std::size_t i = 0; i < before.instance_count; ++i) {
    const InstanceRecord& gone = before.instances[i];
    const InstanceRecord* stays = after.instance(gone.id);
    for (std::size_t c = 0; c < gone.compute_count; ++c) {
      const int ci = gone.compute[c].id;
      if (stays == nullptr || compute_of(*stays, ci) == nullptr) good = remove_compute(gpu, gone.id, ci) && good;
    }
    if (stays == nullptr) good = remove_instance(gpu, gone.id) && good;
  }
  for (std::size_t i = 0; i < after.instance_count; ++i) {
    good = add_instance(gpu, after.instances[i], before.instance(after.instances[i].id)) && good;
  }
  return good;
}

// Leaves out what `shown` has already.
bool RootFiles::add_instance(int gpu, const InstanceRecord& instance, const InstanceRecord* shown) const {
  const int minor = minor_of(gpu);
  const std::string folder = mig_folder(minor) + "/gi" + std::to_string(instance.id);
  bool good = shown != nullptr || write_capability(folder, capability_minor(minor, instance.id), kAllRead);
  for (std::size_t c = 0; c < instance.compute_count; ++c) {
    const int ci = instance.compute[c].id;
    if (shown != nullptr && compute_of(*shown, ci) != nullptr) continue;
    good = write_capability(folder + "/ci" + std::to_string(ci), capability_minor(minor, instance.id, ci), kAllRead) &&
           good;
  }
  return good;
}

bool RootFiles::remove_instance(int gpu, int gi) const {
  const int minor = minor_of(gpu);
  return remove_capability(mig_folder(minor) + "/gi" + std::to_string(gi), capability_minor(minor, gi));
}

bool RootFiles::remove_compute(int gpu, int gi, int ci) const {
  const int minor = minor_of(gpu);
  const std::string folder = mig_folder(minor) + "/gi" + std::to_string(gi) + "/ci" + std::to_string(ci);
  return remove_capability(folder, capability_minor(minor, gi, ci));
}

}  // namespace partita::emulator
