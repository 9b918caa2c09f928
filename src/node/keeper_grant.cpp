// Handing over what was chosen and cut.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "node/keeper.h"

namespace partita::node {

namespace {

using State = api::LeaseState;

// What runs in its group is kept to what it has now, which may be elsewhere than before.
Result<void> confine_anew(Handover& handover, const LeaseRecord& record) {
  Result<void> confined;
  for (const pid_t pid : TRY(handover.processes(record.lease.name))) {
    confined = handover.confine(record, pid);
    if (confined || ::kill(pid, 0) == 0) return confined;
  }
  return {};  // nothing runs in it any more
}

}  // namespace

Result<void> Keeper::grant_all() {
  std::set<std::int64_t> bundles;
  for (const auto& [id, record] : book_.live())
    if (record.lease.state == State::cutting || record.lease.state == State::granting) bundles.insert(record.bundle);
  for (const std::int64_t bundle : bundles) grant_bundle(bundle);
  return refresh_names();
}

// All of one request, or none.
void Keeper::grant_bundle(std::int64_t bundle) {
  const std::vector<LeaseRecord*> members = book_.bundle(bundle);
  for (LeaseRecord* record : members) {
    if (record->lease.state != State::cutting && record->lease.state != State::granting) continue;
    auto granted = grant(*record);
    if (granted || stays(*record, granted.error())) continue;
    for (LeaseRecord* member : members) {
      (void)handover_.take(*member);
      unpin(*member);
      wait_again(*member);
      member->lease.grant.reset();
      changed(*member);
    }
    Error error = in_context(fmt::format("lease {}", record->lease.name), std::move(granted).error());
    if (error.code == ErrorCode::no_space) error.code = ErrorCode::unavailable;
    refuse(bundle, error);
    // A lease that was to change is handed over as it was; if that fails, too, its end says so.
    if (LeaseRecord* const back = book_.find(bundle); back != nullptr && back->lease.state == State::granting)
      if (auto restored = grant(*back); !restored && !stays(*back, restored.error()))
        end(*back, restored.error().message);
    return;
  }
  for (LeaseRecord* member : members) member->bundle = member->lease.id;  // from here on each is one by itself
}

// What a lease had before is its own while the driver fails for a moment: the next group hands it over.
bool Keeper::stays(LeaseRecord& record, const Error& error) {
  const auto pending = pending_.find(record.bundle);
  const bool changes = pending != pending_.end() && pending->second.before;
  if (error.code != ErrorCode::driver || !record.lease.granted || !record.place || changes) return false;
  // What is not there yet is no hindrance to what makes it.
  const layout::Gpu* const there = gpu(record.place->gpu);
  const bool missing = !record.place->whole_gpu && partition(record) == nullptr;
  const bool to_be_cut = missing && unfinished_.contains(record.place->gpu);
  if (missing && !to_be_cut && there != nullptr && !there->fault) return false;  // nobody makes it again
  record.lease.state = to_be_cut ? State::cutting : State::granting;
  changed(record);
  return true;
}

Result<void> Keeper::grant(LeaseRecord& record) {
  const auto& place = record.place;
  if (!place) return fail(ErrorCode::internal, "a lease without a place cannot be granted");
  const layout::Gpu* const there = gpu(place->gpu);
  if (there == nullptr) return fail(ErrorCode::driver, fmt::format("{} is lost", place->gpu));
  record.lease.grant = TRY(handover_.grant_of(*there, *place));
  TRY_VOID(handover_.give(record));
  if (record.lease.granted) TRY_VOID(confine_anew(handover_, record));
  record.lease.state = State::active;
  record.told = true;
  if (!record.lease.granted) {
    record.lease.granted = now_;
    context_.measures.wait.add(now_ - record.lease.asked);
    if (record.duration) record.lease.expires = now_ + *record.duration;
    const std::string& user = record.lease.holder.user;
    book_.served[user] = ++book_.numbers.last_service;
    served_users_.push_back(user);
  }
  const api::GrantedDevice& device = record.lease.grant->devices.front();
  if (std::exchange(record.moved, false))
    event("lease.active", record.lease.name,
          fmt::format("{} has {} on GPU {}", record.lease.holder.user,
                      device.profile.empty() ? "the whole GPU" : device.profile, there->index));
  changed(record);
  return {};
}

// The index of a MIG device may be another one after a cut beside it.
Result<void> Keeper::refresh_names() {
  std::vector<LeaseRecord*> renamed;
  for (auto& [id, record] : book_.live()) {
    const auto& place = record.place;
    if (record.lease.state != State::active || !record.lease.grant || !place || place->whole_gpu) continue;
    const layout::Gpu* const there = gpu(place->gpu);
    const layout::GpuInstance* const instance = partition(record);
    if (instance == nullptr) continue;
    bool other = false;
    for (std::size_t i = 0; i < instance->compute.size() && i < record.lease.grant->devices.size(); ++i) {
      const layout::ComputeInstance& compute = instance->compute[i];
      const std::string index = fmt::format("{}:{}", there->index, compute.mig_index.value_or(0));
      other |= std::exchange(record.lease.grant->devices[i].index, index) != index;
    }
    if (other) renamed.push_back(&record);
  }
  for (LeaseRecord* record : renamed) {
    record->shown = nullptr;
    TRY_VOID(handover_.write_cdi(*record));
  }
  return {};
}

// Partitions of ours that nobody has are root's alone.
Result<void> Keeper::close_idle() {
  auto idle = idle_instances();
  for (const auto& [key, where] : idle)
    if (!closed_.contains(key)) TRY_VOID(handover_.close(*where.gpu, *where.instance));
  remember_closed(idle);
  return {};
}

// By all that makes an instance another one.
std::map<std::string, Keeper::Idle> Keeper::idle_instances() const {
  std::map<std::string, Idle> idle;
  for (const layout::Gpu& there : state_.gpus)
    for (const layout::GpuInstance& instance : there.instances) {
      const bool ours = std::ranges::none_of(
          instance.pins, [](const layout::Pin& pin) { return pin.reason != layout::Pin::Reason::busy; });
      if (!ours) continue;
      std::string key = fmt::format("{} {} {}", there.uuid, instance.id, instance.profile);
      for (const layout::ComputeInstance& compute : instance.compute) key += fmt::format(" {}", compute.id);
      idle.emplace(std::move(key), Idle{&there, &instance});
    }
  return idle;
}

void Keeper::remember_closed(const std::map<std::string, Idle>& idle) {
  closed_.clear();
  for (const auto& [key, where] : idle) closed_.insert(key);
}

}  // namespace partita::node
