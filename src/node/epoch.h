// How long an ownership mark is good for: one boot and one load of the driver. Instances never survive either.
#pragma once

#include <filesystem>
#include <string>

namespace partita::node {

struct Epoch {
  std::string boot_id;
  // The inode number of sys/module/nvidia: the kernel gives each load of a module new numbers, and unlike the times
  // of such files it does not change while the module stays. "" where the module is not seen.
  std::string driver_load;
  bool operator==(const Epoch&) const = default;
};

// `device_root` is "/" or an emulated node's root; one without a boot id of its own has the machine's.
Epoch read_epoch(const std::filesystem::path& device_root);

}  // namespace partita::node
