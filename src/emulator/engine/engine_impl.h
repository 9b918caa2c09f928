// Private to the engine's .cpp files.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "emulator/engine/engine.h"
#include "emulator/engine/root_files.h"
#include "emulator/engine/state_file.h"

namespace partita::emulator {

ComputeInstanceState to_state(const ComputeRecord& record);
GpuInstanceState to_state(const GpuSpec& gpu, const InstanceRecord& record);
inline std::optional<int> instance_id(int id) { return id < 0 ? std::nullopt : std::optional(id); }
inline Condition condition_of(const GpuHead& gpu) {
  if (gpu.lost != 0) return gpu.lost == 1 ? Condition::lost : Condition::off_bus;
  return gpu.reset_required != 0 ? Condition::reset_required : Condition::good;
}

class Turn;

struct Engine::Impl {
  std::filesystem::path folder;
  NodeSpec spec;
  std::unique_ptr<StateFile> file;
  RootFiles files;
  uid_t owner = 0;
  int driver_major = 0;
  SystemClock system_clock;
  Timing timing;

  Impl(std::filesystem::path where, NodeSpec what, std::unique_ptr<StateFile> state, Timing time);

  const GpuSpec& gpu(int index) const { return spec.gpus[static_cast<std::size_t>(index)]; }
  bool has(int index) const { return index >= 0 && index < static_cast<int>(spec.gpus.size()); }
  void snapshot(int index, GpuRecord& record) const;
  // Of the node's clock, in milliseconds.
  std::int64_t now_ms() const { return now_ms(file->read_node()); }
  std::int64_t now_ms(const NodeRecord& node) const;
  void wait(std::chrono::milliseconds time) const;
  void current(int index, GpuRecord& record);
  // Changes what clients set, as Engine::change_settings() says.
  NvmlReturn change_settings(int index, const std::function<NvmlReturn(SettingsRecord&, const NodeRecord&)>& change);
  // How long the driver was told to take for a GPU instance of the profile, if at all.
  void take_measured_time(int index, std::uint32_t measured_ms) const;

  bool may_change_mode() const;
  bool may_change_instances() const;
  // What stands in the way of any instance change on the GPU: kSuccess, kInvalidArgument, kNotSupported,
  // kNoPermission, kGpuIsLost.
  NvmlReturn refuses_instances(int index) const;
  // A transaction was not to be had: the state cannot be written by us, or the node is gone.
  NvmlReturn why_no_turn() const { return file->writable() ? kDriverNotLoaded : kNoPermission; }

  void load_driver(Turn& turn, bool machine_too);
  // Makes the files under root/ show the state, if they do not.
  void repair_files();
};

// One writer's turn (StateFile::Transaction), for the engine: records come without dead holders, and the meters and the
// files under root/ follow each commit.
class Turn {
 public:
  explicit Turn(Engine::Impl& impl) : impl_(impl), transaction_(*impl.file) {}
  explicit operator bool() const { return static_cast<bool>(transaction_); }

  GpuRecord& gpu(int index);
  NodeRecord& node() { return transaction_.node(); }
  FaultsRecord& faults() { return transaction_.faults(); }
  std::int64_t now_ms();  // the same in the whole turn
  void add_event(std::uint64_t type, int gpu, int gpu_instance = -1, int compute_instance = -1, std::uint64_t data = 0);
  void set_condition(int gpu, Condition condition);
  bool lingers(const InstanceRecord& instance) { return instance.busy_until_ms > now_ms(); }

  void commit(bool instances_changed);
  void commit_anew();  // all files under root/ are written again
  // Answers `answer`; that processes were seen to have ended is kept. Nothing else may have been changed.
  NvmlReturn refuse(NvmlReturn answer);

 private:
  void drop_dead_holders(int index, GpuRecord& record);
  void account(int index, const HolderRecord& holder);
  std::chrono::milliseconds linger(int index);

  Engine::Impl& impl_;
  StateFile::Transaction transaction_;
  std::uint32_t loaded_ = 0;  // one bit for each GPU
  bool dropped_ = false;
  std::optional<std::int64_t> now_ms_;
};

}  // namespace partita::emulator
