// Private to the engine's .cpp files.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "emulator/engine/engine.h"
#include "emulator/engine/root_files.h"
#include "emulator/engine/state_file.h"

namespace partita::emulator {

struct Engine::Impl {
  std::filesystem::path folder;
  NodeSpec spec;
  std::unique_ptr<StateFile> file;
  RootFiles files;
  uid_t owner = 0;
  int driver_major = 0;

  Impl(std::filesystem::path where, NodeSpec what, std::unique_ptr<StateFile> state);

  const GpuSpec& gpu(int index) const { return spec.gpus[static_cast<std::size_t>(index)]; }
  bool has(int index) const { return index >= 0 && index < static_cast<int>(spec.gpus.size()); }
  void snapshot(int index, GpuRecord& record) const;

  bool may_change_mode() const;
  bool may_change_instances() const;
  // What stands in the way of any instance change on the GPU: kSuccess, kInvalidArgument, kNotSupported,
  // kNoPermission, kGpuIsLost.
  NvmlReturn refuses_instances(int index) const;
  // A transaction was not to be had: the state cannot be written by us, or the node is gone.
  NvmlReturn why_no_turn() const { return file->writable() ? kDriverNotLoaded : kNoPermission; }

  // Commits; when instances changed, the files under root/ follow before the lock is given up.
  void commit(StateFile::Transaction& turn, bool instances_changed);
  // Makes the files under root/ show the state, if they do not.
  void repair_files();
};

}  // namespace partita::emulator
