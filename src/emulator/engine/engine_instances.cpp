// Making and destroying instances.
#include <algorithm>

#include "emulator/engine/engine_impl.h"
#include "emulator/engine/rules.h"
#include "emulator/engine/uuid.h"

namespace partita::emulator {

namespace {

// Ids ascend, so that lists come out as the driver gives them.
template <class Record, std::size_t N, class Count>
Record& insert_by_id(std::array<Record, N>& records, Count& count, const Record& made) {
  auto* begin = records.data();
  auto* at = std::find_if(begin, begin + count, [&](const Record& r) { return r.id > made.id; });
  std::copy_backward(at, begin + count, begin + count + 1);
  ++count;
  return *at = made;
}

template <class Record, std::size_t N, class Count>
void erase_id(std::array<Record, N>& records, Count& count, int id) {
  auto* end = std::remove_if(records.data(), records.data() + count, [&](const Record& r) { return r.id == id; });
  count = static_cast<Count>(end - records.data());
}

std::uint32_t take_serial(NodeRecord& node) {
  const std::uint32_t serial = node.next_serial++;
  if (node.next_serial == 0) node.next_serial = 1;
  return serial;
}

}  // namespace

NvmlReturn Engine::create_gpu_instance(int gpu, int profile_id, std::optional<int> start, GpuInstanceState& made) {
  if (const NvmlReturn answer = impl_->refuses_instances(gpu); answer != kSuccess) return answer;
  const GpuSpec& spec = impl_->gpu(gpu);
  const ProfileSpec* profile = find_profile(spec, profile_id);
  if (profile == nullptr) return kInvalidArgument;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  if (record.mig_current == 0) return kNotSupported;
  if (record.instance_count == 0 && whole_gpu_busy(record)) return kInUse;
  int place = 0;
  const NvmlReturn answer = choose_place(spec, record, *profile, start, impl_->driver_major, place);
  if (answer != kSuccess) return answer;
  InstanceRecord instance;
  instance.serial = take_serial(turn.node());
  instance.id = static_cast<std::uint8_t>(gpu_instance_id(spec, place, profile->size));
  instance.profile = static_cast<std::uint8_t>(profile - spec.profiles.data());
  instance.start = static_cast<std::uint8_t>(place);
  instance.size = static_cast<std::uint8_t>(profile->size);
  insert_by_id(record.instances, record.instance_count, instance);
  turn.add_event(kMigConfigEvent, gpu, instance.id);
  turn.commit(true);
  impl_->take_measured_time(gpu, profile->create_ms);
  made = to_state(spec, instance);
  return kSuccess;
}

NvmlReturn Engine::destroy_gpu_instance(int gpu, int id, std::uint32_t serial) {
  if (const NvmlReturn answer = impl_->refuses_instances(gpu); answer != kSuccess) return answer;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  const InstanceRecord* instance = record.instance(id);
  if (instance == nullptr || (serial != 0 && instance->serial != serial)) return kNotFound;
  if (instance->compute_count > 0 || instance_busy(record, id) || turn.lingers(*instance)) return turn.refuse(kInUse);
  const std::uint32_t measured_ms = impl_->gpu(gpu).profiles[instance->profile].destroy_ms;
  erase_id(record.instances, record.instance_count, id);
  turn.add_event(kMigConfigEvent, gpu, id);
  turn.commit(true);
  impl_->take_measured_time(gpu, measured_ms);
  return kSuccess;
}

NvmlReturn Engine::create_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int profile,
                                           std::optional<int> start, ComputeInstanceState& made) {
  if (const NvmlReturn answer = impl_->refuses_instances(gpu); answer != kSuccess) return answer;
  const GpuSpec& spec = impl_->gpu(gpu);
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  InstanceRecord* instance = record.instance(gi);
  if (instance == nullptr || (gi_serial != 0 && instance->serial != gi_serial)) return kNotFound;
  const ComputeProfileSpec* kind = find_compute_profile(spec.profiles[instance->profile], profile);
  if (kind == nullptr) return kNotSupported;
  int place = 0;
  const NvmlReturn answer = choose_compute_place(*instance, *kind, start, place);
  if (answer != kSuccess) return answer;
  ComputeRecord compute;
  compute.serial = take_serial(turn.node());
  compute.id = static_cast<std::uint8_t>(lowest_free_compute_id(*instance));
  compute.profile = static_cast<std::uint8_t>(profile);
  compute.start = static_cast<std::uint8_t>(place);
  compute.size = static_cast<std::uint8_t>(kind->size);
  compute.slices = static_cast<std::uint8_t>(kind->slices);
  compute.syspipe = static_cast<std::uint8_t>(syspipe_of(spec, *instance, place));
  compute.uuid = mig_uuid(spec.chip_id, spec.pdi, instance->id, compute.syspipe);
  insert_by_id(instance->compute, instance->compute_count, compute);
  turn.add_event(kMigConfigEvent, gpu, gi, compute.id);
  turn.commit(true);
  made = to_state(compute);
  return kSuccess;
}

NvmlReturn Engine::destroy_compute_instance(int gpu, int gi, std::uint32_t gi_serial, int ci, std::uint32_t ci_serial) {
  if (const NvmlReturn answer = impl_->refuses_instances(gpu); answer != kSuccess) return answer;
  Turn turn(*impl_);
  if (!turn) return impl_->why_no_turn();
  GpuRecord& record = turn.gpu(gpu);
  InstanceRecord* instance = record.instance(gi);
  if (instance == nullptr || (gi_serial != 0 && instance->serial != gi_serial)) return kNotFound;
  const ComputeRecord* compute = compute_of(*instance, ci);
  if (compute == nullptr || (ci_serial != 0 && compute->serial != ci_serial)) return kNotFound;
  if (compute_busy(record, gi, ci) || turn.lingers(*instance)) return turn.refuse(kInUse);
  erase_id(instance->compute, instance->compute_count, ci);
  turn.add_event(kMigConfigEvent, gpu, gi, ci);
  turn.commit(true);
  return kSuccess;
}

}  // namespace partita::emulator
