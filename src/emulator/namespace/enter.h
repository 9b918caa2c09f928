// A private view of an emulated node. The process that enters sees, and all that it starts: /proc/driver,
// /proc/devices, /proc/modules, /dev and the PCI devices under /sys as on such a node, whatever calls it makes, for the
// kernel itself shows them. They follow the node while instances come and go, for they are its folder's root/ bound to
// those places. Nothing is changed outside, and nothing is left when the last process of the view ends.
//
// What is not the node's stays this machine's: /dev/null and the terminals, its own modules and PCI devices (but no
// NVIDIA ones).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita::emulator {

struct NodeView {
  // Places that this machine's kernel does not have, so that nothing can be shown there: "/proc/modules" of a kernel
  // without modules, "/sys/bus/pci/devices" of a machine without PCI.
  std::vector<std::string> absent;
  // Whether the node's device nodes are kept from being opened, for another driver has their numbers.
  bool devices_closed = false;
};

// `folder` is the node's. The calling process must have one thread only; it keeps its open files and its folder.
// `denied` without CAP_SYS_ADMIN: nothing has changed then. After any other error the process sees a part of the node
// only, and should end.
Result<NodeView> enter_node(const std::filesystem::path& folder);

}  // namespace partita::emulator
