// What happens to the machine rather than to an instance: modes, processes, resets, reboots, faults.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>

#include "emulator/engine/behaviour.h"
#include "emulator/engine/engine_impl.h"
#include "emulator/engine/processes.h"
#include "emulator/engine/rules.h"

namespace partita::emulator {

namespace {

std::uint64_t next_boot_id(std::uint64_t last) {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id || id == 0 || id == last) id = last + 1;
  return id;
}

void drop_instances(GpuRecord& record) { record.instance_count = 0; }

// 0: not known.
std::uint64_t device_memory(const GpuSpec& gpu, const GpuRecord& record, int gi) {
  if (gi < 0) return gpu.memory_mib << 20;
  const InstanceRecord* instance = record.instance(gi);
  return instance == nullptr ? 0 : instance_memory_mib(gpu, gpu.profiles[instance->profile]) << 20;
}

}  // namespace

NvmlReturn Engine::set_mig_mode(int gpu, bool enabled, NvmlReturn& activation) {
  if (!impl_->has(gpu)) return kInvalidArgument;
  const GpuHead now = impl_->file->read_gpu_summary(gpu);
  if (now.lost != 0) return kGpuIsLost;
  if (now.reset_required != 0) return kResetRequired;
  if (impl_->gpu(gpu).units == 0) return kNotSupported;
  if (!impl_->may_change_mode()) return kNoPermission;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  const std::uint8_t wanted = enabled ? 1 : 0;
  const bool changes = record.mig_current != wanted;
  const bool idle = record.holder_count == 0 && record.instance_count == 0;
  record.mig_pending = wanted;
  activation = changes && !idle ? kInUse : kSuccess;
  if (changes && idle && !impl_->gpu(gpu).mode_change_needs_reset) {
    record.mig_current = wanted;
    turn.add_event(kMigConfigEvent, gpu);
  }
  turn.commit(false);
  return kSuccess;
}

NvmlReturn Engine::hold(int gpu, std::optional<int> gi, std::optional<int> ci, pid_t pid, std::uint64_t memory_bytes,
                        double load) {
  if (!impl_->has(gpu) || gi.has_value() != ci.has_value() || !(load >= 0 && load <= 1)) return kInvalidArgument;
  if (gi && (*gi < 0 || *gi >= kMaxGpuInstances || *ci < 0)) return kInvalidArgument;
  const auto started = process_start_time(pid);
  if (!started) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  if (record.lost != 0) return kGpuIsLost;
  if (record.reset_required != 0) return kResetRequired;
  if (gi) {
    const InstanceRecord* instance = record.instance(*gi);
    if (instance == nullptr || compute_of(*instance, *ci) == nullptr) return kNotFound;
  }
  const int instance_id = gi.value_or(-1);
  const std::uint64_t total = device_memory(impl_->gpu(gpu), record, instance_id);
  const std::uint64_t held = held_memory(record, instance_id, [&](const HolderRecord& h) { return h.pid != pid; });
  if (total > 0 && (memory_bytes > total || held > total - memory_bytes)) return kMemory;
  HolderRecord made{*started,
                    memory_bytes,
                    turn.now_ms(),
                    pid,
                    static_cast<float>(load),
                    static_cast<std::int16_t>(instance_id),
                    static_cast<std::int16_t>(ci.value_or(-1))};
  auto* end = record.holders.data() + record.holder_count;
  auto* same = std::find_if(record.holders.data(), end, [&](const HolderRecord& h) {
    return h.pid == pid && h.gpu_instance == made.gpu_instance && h.compute_instance == made.compute_instance;
  });
  if (same == end) {
    if (record.holder_count == kMaxHolders) return kInsufficientResources;
    ++record.holder_count;
  } else {
    made.since_ms = same->since_ms;
  }
  *same = made;
  turn.commit(false);
  return kSuccess;
}

NvmlReturn Engine::reset(const std::vector<int>& gpus) {
  auto named = [&](int index) { return std::ranges::find(gpus, index) != gpus.end(); };
  for (const int index : gpus) {
    if (!impl_->has(index)) return kInvalidArgument;
    const int group = impl_->gpu(index).reset_group;
    for (int other = 0; group != 0 && impl_->has(other); ++other) {
      if (impl_->gpu(other).reset_group == group && !named(other)) return kInvalidArgument;
    }
  }
  if (!impl_->may_change_mode()) return kNoPermission;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  for (const int index : gpus) {
    if (turn.gpu(index).lost != 0) return kGpuIsLost;
    if (turn.gpu(index).holder_count > 0) return kInUse;
  }
  for (const int index : gpus) {
    GpuRecord& record = turn.gpu(index);
    if (record.mig_current != record.mig_pending || record.instance_count > 0) turn.add_event(kMigConfigEvent, index);
    record.mig_current = record.mig_pending;
    record.settings.ecc_current = record.settings.ecc_pending;
    record.reset_required = 0;
    drop_instances(record);
  }
  turn.commit(true);
  return kSuccess;
}

// The driver comes up: what it kept in memory is gone.
void Engine::Impl::load_driver(Turn& turn, bool machine_too) {
  for (int index = 0; has(index); ++index) {
    GpuRecord& record = turn.gpu(index);
    record.mig_current = record.mig_pending = gpu(index).mode_survives_reboot ? record.mig_pending : std::uint8_t{0};
    if (machine_too && record.lost == 1) record.lost = 0;
    record.reset_required = 0;
    record.holder_count = 0;
    drop_instances(record);
    start_meters(record, turn.now_ms());
    record.settings.accounts_from = turn.node().next_account;
  }
  ++turn.node().driver_load;
  turn.commit_anew();
}

NvmlReturn Engine::reboot() {
  if (!impl_->may_change_mode()) return kNoPermission;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  turn.node().boot_id = next_boot_id(turn.node().boot_id);
  impl_->load_driver(turn, true);
  return kSuccess;
}

NvmlReturn Engine::reload_driver() {
  if (!impl_->may_change_mode()) return kNoPermission;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  for (int index = 0; impl_->has(index); ++index) {
    if (turn.gpu(index).holder_count > 0) return turn.refuse(kInUse);
  }
  impl_->load_driver(turn, false);
  return kSuccess;
}

NvmlReturn Engine::set_condition(int gpu, Condition condition) {
  if (!impl_->has(gpu)) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  turn.set_condition(gpu, condition);
  turn.commit(false);
  return kSuccess;
}

}  // namespace partita::emulator
