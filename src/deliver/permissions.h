// Owner and mode of capability nodes: those of a lease are its holder's, all others root's alone (0600), so that users
// are kept apart even without a device filter.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>

#include "base/error.h"

namespace partita::deliver {

struct CapabilityNode {
  std::filesystem::path node;    // /dev/nvidia-caps/nvidia-cap12
  std::filesystem::path access;  // /proc/driver/nvidia/capabilities/gpu0/mig/gi1/access
};

// Writes "DeviceFileModify: 0" first, or the driver's helper restores the modes. Makes a node that the kernel module
// tells of and nobody made yet. All or nothing.
Result<void> give(std::span<const CapabilityNode> nodes, uid_t uid, gid_t gid);
// Back to root's alone (this process's, when it is not root: emulated nodes only). Nodes that are gone are no error;
// each is tried, the first error is told. What was opened stays open: end the processes first.
Result<void> take_back(std::span<const CapabilityNode> nodes);

}  // namespace partita::deliver
