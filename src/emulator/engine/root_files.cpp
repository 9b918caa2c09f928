#include "emulator/engine/root_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "emulator/engine/pci_address.h"
#include "emulator/engine/uuid.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

constexpr int kNvidiaMajor = 195, kUvmMajor = 510;
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

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string information_text(const GpuSpec& gpu) {
  return "Model: \t\t " + gpu.product + "\nIRQ:   \t\t 0\nGPU UUID: \t " + gpu.uuid +
         "\nVideo BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus "
         "Location: \t " +
         kernel_bus_id(gpu.pci_bus_id) + "\nDevice Minor: \t " + std::to_string(gpu.minor) + "\nGPU Excluded:\t No\n";
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

}  // namespace

RootFiles::RootFiles(const fs::path& folder, const NodeSpec& spec)
    : root_(folder / "root"),
      spare_(folder / "spare"),
      capabilities_((root_ / "proc/driver/nvidia/capabilities").string()),
      nodes_((root_ / "dev/nvidia-caps/nvidia-cap").string()),
      spare_nodes_((spare_ / "nodes").string()),
      spec_(spec) {}

bool RootFiles::make_node(const std::string& path, int major, int minor, unsigned mode) const {
  const dev_t device = ::makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  if (::mknod(path.c_str(), S_IFCHR | mode, device) == 0) return ::chmod(path.c_str(), mode) == 0;  // umask or not
  return errno == EEXIST || write_text(path, "", mode);
}

// As the kernel shows a module. Each load of the driver has a folder of its own, another inode: that is how a load is
// told from the one before.
bool RootFiles::write_module(const NodeRecord& node) const {
  const fs::path module = root_ / "sys/module/nvidia", shown = spare_ / "driver_load";
  const fs::path made = spare_ / "module", before = spare_ / "module.old";
  const std::string load = std::to_string(node.driver_load);
  if (read_text(shown) == load && fs::exists(module)) return true;
  std::error_code error;
  for (const fs::path& left_over : {made, before}) fs::remove_all(left_over, error);
  if (!make_folders(made) || !write_text(made / "version", spec_.driver_version + "\n", kAllRead) ||
      !write_text(made / "initstate", "live\n", kAllRead) || !write_text(made / "refcnt", "0\n", kAllRead)) {
    return false;
  }
  fs::rename(module, before, error);
  if (::rename(made.c_str(), module.c_str()) != 0) return false;
  fs::remove_all(before, error);
  return write_text(shown, load, kAllRead);
}

bool RootFiles::write_fixed(const NodeRecord& node) const {
  const fs::path driver = root_ / "proc/driver/nvidia", lists = root_ / "proc/driver/nvidia-caps";
  bool good = true;
  for (const fs::path& folder : {driver / "gpus", fs::path(capabilities_) / "mig", lists, root_ / "dev/nvidia-caps",
                                 root_ / "sys/module", root_ / "proc/sys/kernel/random", spare_ / "nodes"}) {
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
  good = write_module(node) && good;
  good = write_text(lists / "mig-minors", mig_minors_text(), kAllRead) && good;
  good = write_text(lists / "nvlink-minors", "fabric-mgmt 0\n", kAllRead) && good;
  good = write_text(lists / "sys-minors", "fabric-imex-mgmt " + std::to_string(kFabricMinor) + "\n", kAllRead) && good;
  good = write_capability_file(capabilities_ + "/mig/config", kConfigMinor, kOwnerRead) && good;
  good = write_capability_file(capabilities_ + "/mig/monitor", kMonitorMinor, kAllRead) && good;
  good = write_capability_file(capabilities_ + "/fabric-imex-mgmt", kFabricMinor, kOwnerRead) && good;
  good = make_node((root_ / "dev/nvidiactl").string(), kNvidiaMajor, 255, 0666) && good;
  good = make_node((root_ / "dev/nvidia-uvm").string(), kUvmMajor, 0, 0666) && good;
  for (const GpuSpec& gpu : spec_.gpus) {
    const fs::path folder = driver / "gpus" / kernel_bus_id(gpu.pci_bus_id);
    good = make_folders(folder) && write_text(folder / "information", information_text(gpu), kAllRead) && good;
    good =
        make_node((root_ / "dev" / ("nvidia" + std::to_string(gpu.minor))).string(), kNvidiaMajor, gpu.minor, 0666) &&
        good;
    if (gpu.units > 0) good = make_folders(mig_folder(gpu.minor)) && good;
  }
  return good;
}

}  // namespace partita::emulator
