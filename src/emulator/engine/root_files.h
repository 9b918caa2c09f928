// What the driver shows under /proc and /dev, kept in the node folder's root/. Formats and minors: hardware facts
// section 9. As root the device nodes are real character nodes, else plain files. Directories stay writable for their
// owner (the real ones are 0555), so that a node of an ordinary user can follow its own changes. /sys/module/nvidia has
// another inode after each load of the driver.
#pragma once

#include <filesystem>
#include <string>

#include "emulator/engine/records.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

inline constexpr int kConfigMinor = 1;
inline constexpr int kMonitorMinor = 2;
inline constexpr int kFabricMinor = 4323;
// Capability minor of a GPU instance, and of a compute instance in it.
constexpr int capability_minor(int gpu, int gpu_instance) { return 3 + 135 * gpu + 9 * gpu_instance; }
constexpr int capability_minor(int gpu, int gpu_instance, int compute_instance) {
  return capability_minor(gpu, gpu_instance) + 1 + compute_instance;
}

class RootFiles {
 public:
  RootFiles(const std::filesystem::path& folder, const NodeSpec& spec);

  // All that does not follow from instances: versions, GPUs, lists of minors, fixed device nodes, the boot id.
  // False when something could not be written (another user's node): the files stay as they are.
  bool write_fixed(const NodeRecord& node) const;
  // The access files and device nodes of one GPU's instances, whatever is there now.
  bool write_instances(int gpu, const GpuRecord& record) const;
  // The same when they show `before`: touches only what differs.
  bool write_change(int gpu, const GpuRecord& before, const GpuRecord& after) const;

 private:
  bool make_node(const std::string& path, int major, int minor, unsigned mode) const;
  bool write_module(const NodeRecord& node) const;

  // Of a capability: its folder with the access file, and its device node.
  bool write_capability(const std::string& folder, int minor, unsigned mode) const;
  bool write_capability_file(const std::string& file, int minor, unsigned mode) const;
  bool make_capability_node(int minor, unsigned mode) const;
  bool remove_capability(const std::string& folder, int minor) const;
  bool add_instance(int gpu, const InstanceRecord& instance, const InstanceRecord* shown) const;
  bool remove_instance(int gpu, int gi) const;
  bool remove_compute(int gpu, int gi, int ci) const;

  int minor_of(int gpu) const;
  std::string mig_folder(int minor) const;
  std::string spare_folder(int minor) const;

  static constexpr int kCapsMajor = 236;
  std::filesystem::path root_, spare_;
  std::string capabilities_, nodes_, spare_nodes_;  // as texts: they are needed often
  const NodeSpec& spec_;
};

}  // namespace partita::emulator
