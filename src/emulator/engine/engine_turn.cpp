#include <algorithm>

#include "emulator/engine/behaviour.h"
#include "emulator/engine/engine_impl.h"
#include "emulator/engine/processes.h"

namespace partita::emulator {

GpuRecord& Turn::gpu(int index) {
  GpuRecord& record = transaction_.gpu(index);
  const std::uint32_t bit = 1U << index;
  if ((loaded_ & bit) == 0) {
    loaded_ |= bit;
    drop_dead_holders(index, record);
  }
  return record;
}

void Turn::drop_dead_holders(int index, GpuRecord& record) {
  auto* end = record.holders.data() + record.holder_count;
  auto* alive = std::stable_partition(record.holders.data(), end,
                                      [](const HolderRecord& h) { return process_lives(h.pid, h.start_time); });
  if (alive == end) return;
  dropped_ = true;
  if (record.settings.accounting != 0 && record.mig_current == 0) {
    for (const auto* h = alive; h != end; ++h) account(index, *h);
  }
  const std::chrono::milliseconds time = linger(index);
  for (const auto* h = alive; h != end && time.count() > 0; ++h) {
    InstanceRecord* instance = h->gpu_instance < 0 ? nullptr : record.instance(h->gpu_instance);
    if (instance != nullptr) instance->busy_until_ms = now_ms() + time.count();
  }
  record.holder_count = static_cast<std::uint16_t>(alive - record.holders.data());
}

void Turn::account(int index, const HolderRecord& holder) {
  AccountRecord ended;
  ended.memory_bytes = holder.memory_bytes;
  ended.since_ms = holder.since_ms;
  ended.until_ms = std::max(now_ms(), holder.since_ms);
  ended.pid = holder.pid;
  ended.gpu = index;
  ended.load = holder.load;
  transaction_.add_account(ended);
}

std::int64_t Turn::now_ms() {
  if (!now_ms_) now_ms_ = impl_.now_ms(node());
  return *now_ms_;
}

void Turn::add_event(std::uint64_t type, int gpu, int gpu_instance, int compute_instance, std::uint64_t data) {
  EventRecord event;
  event.time_ms = now_ms();
  event.type = type;
  event.data = data;
  event.gpu = gpu;
  event.gpu_instance = static_cast<std::int16_t>(gpu_instance);
  event.compute_instance = static_cast<std::int16_t>(compute_instance);
  transaction_.add_event(event);
}

void Turn::set_condition(int index, Condition condition) {
  GpuRecord& record = gpu(index);
  record.lost = condition == Condition::lost ? 1 : condition == Condition::off_bus ? 2 : 0;
  record.reset_required = condition == Condition::reset_required ? 1 : 0;
  constexpr std::uint64_t kOffTheBus = 79;  // Xid
  if (record.lost != 0) add_event(kXidEvent, index, -1, -1, kOffTheBus);
}

NvmlReturn Turn::refuse(NvmlReturn answer) {
  if (dropped_) commit(false);
  return answer;
}

void Turn::commit_anew() {
  ++node().change;
  commit(false);
  if (impl_.spec.files) impl_.repair_files();
}

void Turn::commit(bool instances_changed) {
  const std::vector<int> changed = transaction_.changed_gpus();
  for (const int index : changed) follow_holders(impl_.gpu(index), gpu(index), now_ms());
  if (!instances_changed || !impl_.spec.files) return transaction_.commit();
  const std::uint64_t before = node().change, after = ++node().change;
  if (impl_.file->files_change() != before) {
    transaction_.commit();
    return impl_.repair_files();
  }
  std::vector<GpuRecord> shown(changed.size());
  for (std::size_t i = 0; i < changed.size(); ++i) impl_.snapshot(changed[i], shown[i]);
  transaction_.commit();
  bool good = true;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    good = impl_.files.write_change(changed[i], shown[i], gpu(changed[i])) && good;
  }
  if (good) impl_.file->set_files_change(after);
}

}  // namespace partita::emulator
