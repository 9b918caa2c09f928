#include "emulator/namespace/enter.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/file.h"
#include "emulator/engine/engine.h"
#include "emulator/namespace/mounts.h"
#include "emulator/namespace/places.h"
#include "emulator/namespace/proc_lists.h"

namespace partita::emulator {

namespace {

namespace fs = std::filesystem;

// There on every machine, and covered in the end: where files lie that are bound elsewhere.
const fs::path kScratch = "/proc/driver";
const fs::path kModules = "/proc/modules", kDevices = "/proc/devices", kPci = "/sys/bus/pci/devices";

Result<void> leave_common_view() {
  if (::unshare(CLONE_NEWNS) != 0) {
    const ErrorCode code = errno == EPERM ? ErrorCode::denied : ErrorCode::unavailable;
    return fail(code, std::string("cannot make a private view of the node: ") + std::strerror(errno));
  }
  // What is mounted outside later appears here, but nothing the other way round.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return cannot_show("keep apart", "/", errno);
  return {};
}

// Another driver's device must not be reached through the node's device nodes. In a view within a view the outer one
// has looked already, and its list is not the kernel's.
bool must_close(const std::string& machine, const std::string& node) {
  struct statfs list{};
  if (::statfs(kDevices.c_str(), &list) == 0 && list.f_type == PROC_SUPER_MAGIC) return numbers_taken(machine, node);
  struct statvfs outer{};
  return ::statvfs("/dev/nvidiactl", &outer) == 0 && (outer.f_flag & ST_NODEV) != 0;
}

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

Result<void> show_list(const fs::path& place, const std::string& text) {
  const fs::path file = kScratch / ("list-" + place.filename().string());
  TRY_VOID(write_list(file, text));
  return bind(file, place, BindAs::read_only);
}

}  // namespace

Result<NodeView> enter_node(const fs::path& folder) {
  const Engine engine = TRY(Engine::open(folder));
  const NodeSpec& spec = engine.spec();
  TRY_VOID(leave_common_view());
  const fs::path root = folder / "root";
  const std::string devices = TRY(read_file(kDevices)), node_devices = TRY(read_file(root / "proc/devices"));
  NodeView view;
  view.devices_closed = must_close(devices, node_devices);
  TRY_VOID(mount_memory(kScratch));
  TRY_VOID(show_list(kDevices, devices_with(devices, node_devices)));
  if (is_there(kModules)) {
    const std::string modules = TRY(read_file(kModules));
    TRY_VOID(show_list(kModules, modules_with(modules)));
  } else {
    view.absent.push_back(kModules);
  }
  if (is_there(kPci))
    TRY_VOID(show_pci(kScratch, spec));
  else
    view.absent.push_back(kPci);
  if (::umount2(kScratch.c_str(), MNT_DETACH) != 0) return cannot_show("uncover", kScratch, errno);
  TRY_VOID(bind(root / "proc/driver", kScratch));  // root may write capabilities, as on a real node
  TRY_VOID(show_devices(root, spec, view.devices_closed ? BindAs::closed : BindAs::is));
  return view;
}

}  // namespace partita::emulator
