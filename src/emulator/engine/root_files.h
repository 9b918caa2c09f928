// What the driver shows under /proc and /dev, kept in the node folder's root/. Formats and minors: hardware facts
// section 9. As root the device nodes are real character nodes, else plain files. Directories stay writable for their
// owner (the real ones are 0555), so that a node of an ordinary user can follow its own changes.
#pragma once

#include <filesystem>

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
  bool make_node(const std::filesystem::path& path, int major, int minor, unsigned mode) const;
  bool write_capability(const std::filesystem::path& access, int minor, unsigned mode) const;
  bool remove_capability(const std::filesystem::path& folder, int minor) const;
  bool add_instance(int gpu, const InstanceRecord& instance, const InstanceRecord* shown) const;
  bool remove_instance(int gpu, int gi) const;
  bool remove_compute(int gpu, int gi, int ci) const;
  std::filesystem::path mig_folder(int gpu) const;
  std::filesystem::path capability_node(int minor) const;

  bool make_capability_folder(const std::filesystem::path& folder, int minor) const;
  std::filesystem::path spare_folder(int minor) const;

  std::filesystem::path root_, spare_;
  const NodeSpec& spec_;
};

}  // namespace partita::emulator
