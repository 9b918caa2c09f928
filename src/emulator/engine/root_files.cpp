#include "emulator/engine/root_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "emulator/engine/uuid.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

constexpr int kNvidiaMajor = 195, kCapsMajor = 236, kUvmMajor = 510;
constexpr unsigned kOwnerRead = 0400, kAllRead = 0444;

bool make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return !error;
}

// Written beside and renamed: a reader sees the old or the new text.
bool write_text(const fs::path& path, std::string_view text, unsigned mode) {
  const fs::path temporary = path.string() + ".new";
  ::unlink(temporary.c_str());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool good = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good = ::fchmod(fd, mode) == 0 && good;
  ::close(fd);
  return good && ::rename(temporary.c_str(), path.c_str()) == 0;
}

// A small file at once, unless it is there whole: one that was cut short is known by its size.
bool write_new(const fs::path& path, std::string_view text, unsigned mode) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && info.st_size == static_cast<off_t>(text.size())) return true;
    ::unlink(path.c_str());
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (fd < 0) return false;
  bool good = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good = ::fchmod(fd, mode) == 0 && good;
  ::close(fd);
  return good;
}

// Numbers N of the entries PREFIX<N> of a folder ("gi7" with prefix "gi").
std::vector<int> numbered_entries(const fs::path& folder, std::string_view prefix) {
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

std::string lower_bus_id(const GpuSpec& gpu) {
  std::string id = gpu.pci_bus_id;
  if (id.size() > 12) id = id.substr(id.size() - 12);  // four digits of domain, as the kernel writes it
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

std::string information_text(const GpuSpec& gpu) {
  return "Model: \t\t " + gpu.product + "\nIRQ:   \t\t 0\nGPU UUID: \t " + gpu.uuid +
         "\nVideo BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus "
         "Location: \t " +
         lower_bus_id(gpu) + "\nDevice Minor: \t " + std::to_string(gpu.minor) + "\nGPU Excluded:\t No\n";
}

std::string mig_minors_text() {
  std::string text = "config " + std::to_string(kConfigMinor) + "\nmonitor " + std::to_string(kMonitorMinor) + "\n";
  for (int gpu = 0; gpu < kMaxGpus; ++gpu) {
    for (int gi = 0; gi < kMaxGpuInstances; ++gi) {
      const std::string prefix = "gpu" + std::to_string(gpu) + "/gi" + std::to_string(gi);
      text += prefix + "/access " + std::to_string(capability_minor(gpu, gi)) + "\n";
      for (int ci = 0; ci < kMaxComputeInstances; ++ci) {
        text += prefix + "/ci" + std::to_string(ci) + "/access " + std::to_string(capability_minor(gpu, gi, ci)) + "\n";
      }
    }
  }
  return text;
}

std::string boot_id_text(std::uint64_t boot_id) {
  UuidBytes bytes{};
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<std::uint8_t>((boot_id >> (8 * i)) & 0xff);
    bytes[8 + i] = static_cast<std::uint8_t>(~bytes[i] & 0xff);
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  return to_text(bytes) + "\n";
}

fs::path capabilities(const fs::path& root) { return root / "proc/driver/nvidia/capabilities"; }

}  // namespace

RootFiles::RootFiles(const fs::path& folder, const NodeSpec& spec)
    : root_(folder / "root"), spare_(folder / "spare"), spec_(spec) {}

bool RootFiles::make_node(const fs::path& path, int major, int minor, unsigned mode) const {
  const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  if (::mknod(path.c_str(), S_IFCHR | mode, device) == 0) {
    const bool for_writing = (mode & 0222) != 0;  // the umask may have taken that away
    return !for_writing || ::chmod(path.c_str(), mode) == 0;
  }
  return errno == EEXIST || write_text(path, "", mode);
}

bool RootFiles::write_capability(const fs::path& access, int minor, unsigned mode) const {
  const std::string text = "DeviceFileMinor: " + std::to_string(minor) + "\nDeviceFileMode: " + std::to_string(mode) +
                           "\nDeviceFileModify: 1\n";
  if (!make_capability_folder(access.parent_path(), minor)) return false;
  return write_new(access, text, mode) && make_node(capability_node(minor), kCapsMajor, minor, mode);
}

fs::path RootFiles::capability_node(int minor) const {
  return root_ / "dev/nvidia-caps" / ("nvidia-cap" + std::to_string(minor));
}

// Folders that are not needed now wait in spare/ under their minor, with their access file: to move a folder costs 10
// us where to remove one cost 4 ms (ext4). Device nodes are always made anew, so that nobody's permissions come back.
bool RootFiles::make_capability_folder(const fs::path& folder, int minor) const {
  if (::rename(spare_folder(minor).c_str(), folder.c_str()) == 0) return true;
  return ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST;
}

// The node goes first: a folder without its node is made whole or removed by the next turn, a node without its folder
// would be forgotten.
bool RootFiles::remove_capability(const fs::path& folder, int minor) const {
  ::unlink(capability_node(minor).c_str());
  if (::rename(folder.c_str(), spare_folder(minor).c_str()) == 0 || errno == ENOENT) return true;
  std::error_code error;
  fs::remove_all(folder, error);
  return !error;
}

fs::path RootFiles::spare_folder(int minor) const { return spare_ / std::to_string(minor); }

bool RootFiles::write_fixed(const NodeRecord& node) const {
  const fs::path driver = root_ / "proc/driver/nvidia", lists = root_ / "proc/driver/nvidia-caps";
  bool good = true;
  for (const fs::path& folder : {driver / "gpus", capabilities(root_) / "mig", lists, root_ / "dev/nvidia-caps",
                                 root_ / "sys", root_ / "proc/sys/kernel/random", spare_}) {
    good = make_folders(folder) && good;
  }
  if (!good) return false;
  good = write_text(driver / "version",
                    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + spec_.driver_version +
                        "  (emulated)\nGCC version:  none (emulated)\n",
                    kAllRead);
  good = write_text(root_ / "proc/devices",
                    "Character devices:\n195 nvidia\n195 nvidiactl\n" + std::to_string(kCapsMajor) + " nvidia-caps\n" +
                        std::to_string(kUvmMajor) + " nvidia-uvm\n\nBlock devices:\n",
                    kAllRead) &&
         good;
  good = write_text(root_ / "proc/sys/kernel/random/boot_id", boot_id_text(node.boot_id), kAllRead) && good;
  good = write_text(lists / "mig-minors", mig_minors_text(), kAllRead) && good;
  good = write_text(lists / "nvlink-minors", "fabric-mgmt 0\n", kAllRead) && good;
  good = write_text(lists / "sys-minors", "fabric-imex-mgmt " + std::to_string(kFabricMinor) + "\n", kAllRead) && good;
  good = write_capability(capabilities(root_) / "mig/config", kConfigMinor, kOwnerRead) && good;
  good = write_capability(capabilities(root_) / "mig/monitor", kMonitorMinor, kAllRead) && good;
  good = write_capability(capabilities(root_) / "fabric-imex-mgmt", kFabricMinor, kOwnerRead) && good;
  good = make_node(root_ / "dev/nvidiactl", kNvidiaMajor, 255, 0666) && good;
  good = make_node(root_ / "dev/nvidia-uvm", kUvmMajor, 0, 0666) && good;
  for (const GpuSpec& gpu : spec_.gpus) {
    const fs::path folder = driver / "gpus" / lower_bus_id(gpu);
    good = make_folders(folder) && write_text(folder / "information", information_text(gpu), kAllRead) && good;
    good = make_node(root_ / "dev" / ("nvidia" + std::to_string(gpu.minor)), kNvidiaMajor, gpu.minor, 0666) && good;
    if (gpu.units > 0) good = make_folders(capabilities(root_) / ("gpu" + std::to_string(gpu.minor)) / "mig") && good;
  }
  return good;
}

bool RootFiles::write_instances(int gpu, const GpuRecord& record) const {
  // What is there, as a record: the folders that a killed process left, whichever they are.
  const fs::path mig = mig_folder(gpu);
  bool good = true;
  for (const int gi : numbered_entries(mig, "gi")) {
    const fs::path folder = mig / ("gi" + std::to_string(gi));
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

fs::path RootFiles::mig_folder(int gpu) const {
  return capabilities(root_) / ("gpu" + std::to_string(spec_.gpus[static_cast<std::size_t>(gpu)].minor)) / "mig";
}

// Leaves out what `shown` has already.
bool RootFiles::add_instance(int gpu, const InstanceRecord& instance, const InstanceRecord* shown) const {
  const int minor = spec_.gpus[static_cast<std::size_t>(gpu)].minor;
  const fs::path folder = mig_folder(gpu) / ("gi" + std::to_string(instance.id));
  bool good = shown != nullptr || write_capability(folder / "access", capability_minor(minor, instance.id), kAllRead);
  for (std::size_t c = 0; c < instance.compute_count; ++c) {
    const int ci = instance.compute[c].id;
    if (shown != nullptr && compute_of(*shown, ci) != nullptr) continue;
    good = write_capability(folder / ("ci" + std::to_string(ci)) / "access", capability_minor(minor, instance.id, ci),
                            kAllRead) &&
           good;
  }
  return good;
}

bool RootFiles::remove_instance(int gpu, int gi) const {
  const int minor = spec_.gpus[static_cast<std::size_t>(gpu)].minor;
  return remove_capability(mig_folder(gpu) / ("gi" + std::to_string(gi)), capability_minor(minor, gi));
}

bool RootFiles::remove_compute(int gpu, int gi, int ci) const {
  const int minor = spec_.gpus[static_cast<std::size_t>(gpu)].minor;
  const fs::path folder = mig_folder(gpu) / ("gi" + std::to_string(gi)) / ("ci" + std::to_string(ci));
  return remove_capability(folder, capability_minor(minor, gi, ci));
}

}  // namespace partita::emulator
