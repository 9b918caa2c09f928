// What happens to the machine rather than to an instance: modes, processes, resets, reboots, faults.
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "emulator/engine/engine_impl.h"
#include "emulator/engine/processes.h"

namespace partita::emulator {

namespace {

std::uint64_t next_boot_id(std::uint64_t last) {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id || id == 0 || id == last) id = last + 1;
  return id;
}

void drop_instances(GpuRecord& record) { record.instance_count = 0; }

// Memory that a device has and what its holders take of it. 0: not known.
std::uint64_t device_memory(const GpuSpec& gpu, const GpuRecord& record, int gi) {
  if (gi < 0) return gpu.memory_mib << 20;
  const InstanceRecord* instance = record.instance(gi);
  return instance == nullptr ? 0 : gpu.profiles[instance->profile].memory_mib << 20;
}

std::uint64_t memory_held(const GpuRecord& record, int gi, pid_t except) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < record.holder_count; ++i) {
    const HolderRecord& h = record.holders[i];
    if (h.pid != except && (gi < 0 || h.gpu_instance == gi)) sum += h.memory_bytes;
  }
  return sum;
}

bool matches(const FaultRecord& row, std::string_view function, int gpu) {
  return (std::string_view(row.function) == "*" || std::string_view(row.function) == function) &&
         (row.gpu < 0 || row.gpu == gpu);
}

}  // namespace

NvmlReturn Engine::set_mig_mode(int gpu, bool enabled, NvmlReturn& activation) {
  if (!impl_->has(gpu)) return kInvalidArgument;
  if (impl_->file->read_gpu_summary(gpu).lost != 0) return kGpuIsLost;
  if (impl_->gpu(gpu).units == 0) return kNotSupported;
  if (!impl_->may_change_mode()) return kNoPermission;
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  const std::uint8_t wanted = enabled ? 1 : 0;
  const bool changes = record.mig_current != wanted;
  const bool idle = record.holder_count == 0 && record.instance_count == 0;
  record.mig_pending = wanted;
  activation = changes && !idle ? kInUse : kSuccess;
  if (changes && idle && !impl_->gpu(gpu).mode_change_needs_reset) record.mig_current = wanted;
  impl_->commit(turn, false);
  return kSuccess;
}

NvmlReturn Engine::hold(int gpu, int gi, int ci, pid_t pid, std::uint64_t memory_bytes) {
  if (!impl_->has(gpu) || gi >= kMaxGpuInstances || (gi < 0 && ci >= 0)) return kInvalidArgument;
  const auto started = process_start_time(pid);
  if (!started) return kInvalidArgument;
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  if (record.lost != 0) return kGpuIsLost;
  if (gi >= 0) {
    const InstanceRecord* instance = record.instance(gi);
    if (instance == nullptr || compute_of(*instance, ci) == nullptr) return kNotFound;
  }
  const std::uint64_t total = device_memory(impl_->gpu(gpu), record, gi);
  const std::uint64_t held = memory_held(record, gi, pid);
  if (total > 0 && (memory_bytes > total || held > total - memory_bytes)) return kMemory;
  HolderRecord made{*started, memory_bytes, pid, static_cast<std::int16_t>(gi < 0 ? -1 : gi),
                    static_cast<std::int16_t>(gi < 0 ? -1 : ci)};
  auto* end = record.holders.data() + record.holder_count;
  auto* same = std::find_if(record.holders.data(), end, [&](const HolderRecord& h) {
    return h.pid == pid && h.gpu_instance == made.gpu_instance && h.compute_instance == made.compute_instance;
  });
  if (same == end) {
    if (record.holder_count == kMaxHolders) return kInsufficientResources;
    ++record.holder_count;
  }
  *same = made;
  impl_->commit(turn, false);
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
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  for (const int index : gpus) {
    if (turn.gpu(index).lost != 0) return kGpuIsLost;
    if (turn.gpu(index).holder_count > 0) return kInUse;
  }
  for (const int index : gpus) {
    GpuRecord& record = turn.gpu(index);
    record.mig_current = record.mig_pending;
    drop_instances(record);
  }
  impl_->commit(turn, true);
  return kSuccess;
}

NvmlReturn Engine::reboot() {
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  for (int index = 0; impl_->has(index); ++index) {
    GpuRecord& record = turn.gpu(index);
    record.mig_current = record.mig_pending =
        impl_->gpu(index).mode_survives_reboot ? record.mig_pending : std::uint8_t{0};
    record.lost = 0;
    record.holder_count = 0;
    drop_instances(record);
  }
  turn.node().boot_id = next_boot_id(turn.node().boot_id);
  if (impl_->spec.files) ++turn.node().change;
  turn.commit();
  if (impl_->spec.files) impl_->repair_files();  // the boot id is among them
  return kSuccess;
}

NvmlReturn Engine::set_lost(int gpu, bool lost) {
  if (!impl_->has(gpu)) return kInvalidArgument;
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  turn.gpu(gpu).lost = lost ? 1 : 0;
  turn.commit();
  return kSuccess;
}

NvmlReturn Engine::add_fault(std::string_view function, int answer, int calls, int gpu) {
  FaultRecord row;
  if (function.empty() || function.size() >= sizeof row.function || calls < 1) return kInvalidArgument;
  if (gpu >= 0 && !impl_->has(gpu)) return kInvalidArgument;
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  FaultsRecord& faults = turn.faults();
  if (faults.count == kMaxFaults) return kInsufficientResources;
  std::memcpy(row.function, function.data(), function.size());
  row.answer = answer;
  row.calls = calls;
  row.gpu = gpu < 0 ? -1 : gpu;
  faults.rows[faults.count++] = row;
  turn.commit();
  return kSuccess;
}

NvmlReturn Engine::clear_faults() {
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return impl_->why_no_turn();
  turn.faults() = FaultsRecord{};
  turn.commit();
  return kSuccess;
}

std::vector<Engine::FaultRow> Engine::faults() const {
  const FaultsRecord faults = impl_->file->read_faults();
  std::vector<FaultRow> rows;
  for (std::size_t i = 0; i < faults.count; ++i) {
    const FaultRecord& row = faults.rows[i];
    rows.push_back({row.function, row.answer, row.calls, row.gpu});
  }
  return rows;
}

std::optional<int> Engine::take_fault(std::string_view function, int gpu) {
  if (impl_->file->fault_count() == 0) return std::nullopt;
  StateFile::Transaction turn(*impl_->file);
  if (!turn) return std::nullopt;
  FaultsRecord& faults = turn.faults();
  auto* begin = faults.rows.data();
  auto* end = begin + faults.count;
  auto* row = std::find_if(begin, end, [&](const FaultRecord& r) { return matches(r, function, gpu); });
  if (row == end) return std::nullopt;
  const int answer = row->answer;
  if (--row->calls <= 0) {
    std::move(row + 1, end, row);
    --faults.count;
  }
  turn.commit();
  return answer;
}

}  // namespace partita::emulator
