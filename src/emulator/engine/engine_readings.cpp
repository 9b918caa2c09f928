// What a node shows over time: instruments, settings, events.
#include <algorithm>

#include "emulator/engine/behaviour.h"
#include "emulator/engine/engine_impl.h"
#include "emulator/engine/processes.h"
#include "emulator/engine/rules.h"

namespace partita::emulator {

namespace {

Time to_time(std::int64_t ms) { return Time(std::chrono::milliseconds(ms)); }

bool is_dead(const HolderRecord& h) { return !process_lived_just_now(h.pid, h.start_time); }

std::uint64_t held_memory(const GpuRecord& record, int gpu_instance) {
  return held_memory(record, gpu_instance, [](const HolderRecord&) { return true; });
}

InstanceReadings read_load(const LoadRecord& load, std::int64_t now_ms) {
  InstanceReadings shown;
  shown.time = to_time(now_ms);
  shown.sm = load_at(load, now_ms);
  shown.memory = kMemoryPerSm * shown.sm;
  shown.sm_total_ms = total_at(load, now_ms);
  return shown;
}

GpuReadings read_gpu(const GpuSpec& gpu, const GpuRecord& record, std::int64_t now_ms) {
  const MeterRecord& meter = record.meter;
  GpuReadings shown;
  static_cast<InstanceReadings&>(shown) = read_load(meter.sm, now_ms);
  shown.memory_used_bytes = held_memory(record, -1);
  shown.any = load_at(meter.any, now_ms);
  shown.any_total_ms = total_at(meter.any, now_ms);
  shown.pcie_from_host = kPcieFromHost * shown.sm;
  shown.pcie_to_host = kPcieToHost * shown.sm;
  shown.power_mw = static_cast<std::uint32_t>(power_mw(gpu, record.settings, shown.sm) + 0.5);
  shown.power_limit_mw = static_cast<std::uint32_t>(power_limit_mw(gpu, record.settings) + 0.5);
  shown.energy_mj = static_cast<std::uint64_t>(std::max(0.0, energy_mj(gpu, record.settings, meter, now_ms)));
  shown.degrees = degrees_at(meter, now_ms);
  shown.memory_degrees = shown.degrees + kMemoryDegrees * shown.sm;
  shown.sm_clock_mhz = sm_clock_mhz(gpu, record.settings, meter.any.to > 0);
  shown.memory_clock_mhz = gpu.memory_clock_mhz;
  return shown;
}

Event to_event(const EventRecord& record) {
  return {record.number,
          to_time(record.time_ms),
          record.type,
          record.data,
          record.gpu,
          instance_id(record.gpu_instance),
          instance_id(record.compute_instance)};
}

}  // namespace

// The record as of now: dead holders are gone from the state where this process may write, else from the copy only.
void Engine::Impl::current(int index, GpuRecord& record) {
  snapshot(index, record);
  const auto* holders = record.holders.data();
  if (std::none_of(holders, holders + record.holder_count, is_dead)) return;
  if (Turn turn(*this); turn) {
    turn.gpu(index);
    turn.commit(false);
    return snapshot(index, record);
  }
  auto* end = std::remove_if(record.holders.data(), record.holders.data() + record.holder_count, is_dead);
  record.holder_count = static_cast<std::uint16_t>(end - record.holders.data());
  follow_holders(gpu(index), record, now_ms());
}

NvmlReturn Engine::Impl::change_settings(int index,
                                         const std::function<NvmlReturn(SettingsRecord&, const NodeRecord&)>& change) {
  if (!has(index)) return kInvalidArgument;
  if (file->read_gpu_summary(index).lost != 0) return kGpuIsLost;
  if (!may_change_mode()) return kNoPermission;
  Turn turn(*this);
  if (!turn) return why_no_turn();
  GpuRecord& record = turn.gpu(index);
  before_settings_change(gpu(index), record, turn.now_ms());
  const NvmlReturn answer = change(record.settings, turn.node());
  if (answer == kSuccess) turn.commit(false);
  return answer;
}

Time Engine::now() const { return to_time(impl_->now_ms()); }

NvmlReturn Engine::advance(std::chrono::milliseconds by) {
  if (by.count() < 0) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  turn.node().clock_offset_ms += by.count();
  turn.commit(false);
  return kSuccess;
}

GpuReadings Engine::readings(int index) {
  if (!impl_->has(index)) return {};
  GpuSnapshot room;
  impl_->current(index, room.record);
  return read_gpu(impl_->gpu(index), room.record, impl_->now_ms());
}

std::vector<GpuReadings> Engine::history(int index, Time after, std::chrono::milliseconds period, std::size_t most) {
  std::vector<GpuReadings> shown;
  if (!impl_->has(index) || period.count() <= 0) return shown;
  GpuSnapshot room;
  const GpuRecord& record = room.record;
  impl_->current(index, room.record);
  const MeterRecord& meter = record.meter;
  const std::int64_t now = impl_->now_ms(), step = period.count(), last = after.time_since_epoch().count();
  const std::int64_t begin = std::min(now, std::max({meter.any.since_ms, meter.sm.since_ms, meter.energy_since_ms}));
  for (std::int64_t at = now / step * step; at > std::max(begin, last) && shown.size() < most; at -= step) {
    shown.push_back(read_gpu(impl_->gpu(index), record, at));
  }
  if (begin > last && shown.size() < most) shown.push_back(read_gpu(impl_->gpu(index), record, begin));
  std::ranges::reverse(shown);
  return shown;
}

std::vector<EndedProcess> Engine::ended_processes(int index) {
  std::vector<EndedProcess> ended;
  if (!impl_->has(index)) return ended;
  GpuSnapshot room;
  impl_->current(index, room.record);
  const std::uint64_t end = impl_->file->read_node().next_account;
  const std::uint64_t kept = end < kAccountRing ? 0 : end - (kAccountRing - 1);
  AccountRecord account;
  for (std::uint64_t number = std::max(kept, room.record.settings.accounts_from); number < end; ++number) {
    if (!impl_->file->read_account(number, account) || account.gpu != index) continue;
    ended.push_back(
        {account.pid, to_time(account.since_ms), to_time(account.until_ms), account.memory_bytes, account.load});
  }
  return ended;
}

NvmlReturn Engine::clear_ended_processes(int gpu) {
  return impl_->change_settings(gpu, [](SettingsRecord& settings, const NodeRecord& node) {
    settings.accounts_from = node.next_account;
    return kSuccess;
  });
}

std::optional<InstanceReadings> Engine::readings(int gpu, int gpu_instance) {
  if (!impl_->has(gpu)) return std::nullopt;
  GpuSnapshot room;
  GpuRecord& record = room.record;
  impl_->current(gpu, record);
  const InstanceRecord* instance = record.instance(gpu_instance);
  if (instance == nullptr) return std::nullopt;
  InstanceReadings shown = read_load(instance->load, impl_->now_ms());
  shown.memory_used_bytes = held_memory(record, gpu_instance);
  return shown;
}

SettingsRecord Engine::settings(int gpu) const {
  GpuSnapshot room;
  GpuRecord& record = room.record;
  impl_->snapshot(gpu, record);
  return record.settings;
}

NvmlReturn Engine::change_settings(int gpu, const std::function<NvmlReturn(SettingsRecord&)>& change) {
  return impl_->change_settings(gpu, [&](SettingsRecord& settings, const NodeRecord&) { return change(settings); });
}

std::uint64_t Engine::next_event() const { return impl_->file->read_node().next_event; }

std::optional<Event> Engine::event(std::uint64_t number) const {
  EventRecord record;
  if (!impl_->file->read_event(number, record)) return std::nullopt;
  return to_event(record);
}

bool Engine::wait_event(std::uint64_t number, std::chrono::milliseconds time_out) const {
  return impl_->file->wait_event(number, time_out);
}

NvmlReturn Engine::raise_xid(int gpu, unsigned xid, std::optional<int> gpu_instance,
                             std::optional<int> compute_instance) {
  if (!impl_->has(gpu)) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  turn.add_event(kXidEvent, gpu, gpu_instance.value_or(-1), compute_instance.value_or(-1), xid);
  turn.commit(false);
  return kSuccess;
}

}  // namespace partita::emulator
