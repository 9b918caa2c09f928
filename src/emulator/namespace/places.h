// Where a node is shown: one function for each place. `root` is the node folder's root/.
#pragma once

#include <filesystem>

#include "base/error.h"
#include "emulator/engine/spec.h"
#include "emulator/namespace/mounts.h"

namespace partita::emulator {

// /dev: this machine's entries without NVIDIA's, and the node's device nodes, with the permissions that they have in
// its folder. /dev/nvidia-caps is the node's folder itself, so it follows.
Result<void> show_devices(const std::filesystem::path& root, const NodeSpec& spec, BindAs as);

// /sys/bus/pci/devices and /sys/bus/pci/drivers, made in `scratch`.
Result<void> show_pci(const std::filesystem::path& scratch, const NodeSpec& spec);

}  // namespace partita::emulator
