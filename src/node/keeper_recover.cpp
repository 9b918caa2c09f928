// Getting right again after a crash, a power cut, a reboot or a load of the driver: leases keep their partition where
// it exists, are cut again under the same name where not, or end with a cause.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "node/executor.h"
#include "node/keeper.h"
#include "node/pins.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using State = api::LeaseState;

std::string place_text(const layout::Gpu& gpu, const LeasePlace& place) {
  const auto index = gpu.board ? profile_index(*gpu.board, place.instance.profile) : std::nullopt;
  if (!index) return fmt::format("its instance on GPU {}", gpu.index);
  return fmt::format("{} on GPU {}", layout::name_at(*gpu.board, *index, place.instance.start), gpu.index);
}

}  // namespace

Result<Recovered> Keeper::open(Progress& progress) {
  stale_ = true;  // until all of this is done
  forget_changes();
  pending_.clear();
  closed_.clear();
  looked_ = false;
  look_at_clock();
  book_ = TRY(Book::load(parts_.ledger));
  context_.epoch = read_epoch(parts_.options.driver.device_root);
  const auto last = TRY(leases_.conduct());
  const bool new_epoch = last && last->epoch != context_.epoch;
  const bool dirty = !last || !last->clean || new_epoch;
  TRY_VOID(parts_.ledger.write(
      "conduct", false, [&] { return leases_.store_conduct({false, new_epoch ? last->epoch : context_.epoch}); }));

  context_.leased = book_.places(now_);
  context_.refused.clear();
  Context shown{parts_.driver, parts_.ledger, parts_.clock, parts_.options, context_.epoch, progress,
                false,         false,         {},           context_.leased};
  shown.beside_others = queues_;
  Recovered recovered = TRY(recover(shown));
  unfinished_.clear();
  for (const Unfinished& left : recovered.unfinished) unfinished_.insert_or_assign(left.gpu, left.error);
  room_changed_ = true;
  state_ = TRY(read_node(context_));
  if (dirty || !recovered.notes.empty()) {
    TRY_VOID(reconcile(new_epoch));
  } else {
    for (auto& [id, record] : book_.live()) remember_grant(record);
    remember_closed(idle_instances());  // as whoever ended well left them
  }
  if (new_epoch)
    TRY_VOID(parts_.ledger.write("conduct", false, [&] { return leases_.store_conduct({false, context_.epoch}); }));
  stale_ = false;
  return recovered;
}

// Why the lease's partition is not what it was granted; nullopt: it is there.
std::optional<std::string> Keeper::gone(const LeaseRecord& record) {
  if (!record.place) return "it has no partition";
  const LeasePlace& place = *record.place;
  const layout::Gpu* const there = gpu(place.gpu);
  if (there == nullptr) return fmt::format("{} is lost", place.gpu);
  if (there->fault && is_for_good(*there->fault)) return fmt::format("GPU {} {}", there->index, *there->fault);
  if (there->fault) return std::nullopt;                     // it cannot be told now
  if (unfinished_.contains(place.gpu)) return std::nullopt;  // it may come again
  if (place.whole_gpu) {
    if (!there->mode || !there->mode->current) return std::nullopt;
    return fmt::format("MIG mode of GPU {} was turned on by someone else", there->index);
  }
  const layout::GpuInstance* const instance = instance_at(*there, place);
  if (instance != nullptr && !is_foreign(*instance)) return std::nullopt;
  return fmt::format("{} was destroyed by {}", place_text(*there, place), taken_by_);
}

// What others made or destroyed since the last look.
void Keeper::note_foreign(const layout::NodeState& before) {
  const auto tell = [&](const layout::Gpu& there, const layout::GpuInstance& instance, const char* what) {
    event("foreign", "",
          fmt::format("{} on GPU {} was {} by someone else",
                      layout::name_at(*there.board, instance.profile, instance.placement.start), there.index, what));
  };
  const auto missing = [](const layout::Gpu& in, const layout::GpuInstance& instance) {
    return std::ranges::none_of(in.instances, [&](const layout::GpuInstance& other) {
      return other.id == instance.id && other.profile == instance.profile;
    });
  };
  for (const layout::Gpu& was : before.gpus) {
    const layout::Gpu* const is = gpu(was.uuid);
    if (is == nullptr || is->fault || was.fault) continue;
    for (const layout::GpuInstance& instance : was.instances)
      if (missing(*is, instance)) tell(was, instance, "destroyed");
    for (const layout::GpuInstance& instance : is->instances)
      if (missing(was, instance) && is_foreign(instance)) tell(*is, instance, "made");
  }
}

// What the ledger does not keep, because it can be read from the node.
void Keeper::remember_grant(LeaseRecord& record) {
  if (!record.place || !holds_partition(record.lease.state)) return;
  const layout::Gpu* const there = gpu(record.place->gpu);
  if (there == nullptr || gone(record)) return;
  if (auto grant = handover_.grant_of(*there, *record.place)) {
    record.lease.grant = *std::move(grant);
    record.given = handover_.capability_nodes(*record.lease.grant);
  }
}

// Permissions, files and groups follow the leases again; leases follow what is there.
Result<void> Keeper::reconcile(bool new_epoch) {
  std::vector<std::int64_t> ids, lost;
  for (const auto& [id, record] : book_.live()) ids.push_back(id);
  for (const std::int64_t id : ids) reconcile_lease(*book_.find(id), new_epoch, lost);
  TRY_VOID(store("reconcile", {}));
  if (!lost.empty()) TRY_VOID(cut_again(lost));
  for (const std::int64_t id : ids)
    if (LeaseRecord* const record = book_.find(id); record != nullptr && record->lease.state == State::granting) {
      const auto granted = grant(*record);
      if (!granted && !stays(*record, granted.error())) end(*record, granted.error().message);
    }
  context_.leased = book_.places(now_);
  state_ = TRY(read_node(context_));
  TRY_VOID(refresh_names());
  TRY_VOID(remove_leftovers());
  TRY_VOID(close_idle());
  return store("reconcile", {});
}

void Keeper::reconcile_lease(LeaseRecord& record, bool new_epoch, std::vector<std::int64_t>& lost) {
  const auto& holder = record.lease.holder.process;
  if (!record.told) return end(record, "the node stopped before its caller was answered");
  if (holder && !is_alive(*holder) && record.lease.state != State::releasing) {
    remember_grant(record);
    return begin_end(record, fmt::format("its process, pid {}, ended", holder->pid), std::chrono::seconds(0));
  }
  if (record.lease.state == State::waiting || record.lease.state == State::parked) return;
  // What waited and was not handed over yet waits again, with all that was asked together with it: all or none is
  // granted. What was cut for it idles and serves it, if nobody's turn is before.
  if (!record.place || (!record.lease.granted && record.lease.state != State::releasing)) {
    wait_again(record);
    return changed(record);
  }
  const auto why = gone(record);
  if (record.lease.state == State::releasing) {
    record.ending = record.lease.cause;
    if (why) return end(record, record.ending);
    remember_grant(record);
    (void)handover_.take(record);
    record.kill_at = now_;
    return;
  }
  if (!why) {
    const bool there =
        record.place->whole_gpu || partition(record) != nullptr || !unfinished_.contains(record.place->gpu);
    record.moved = record.lease.state == State::cutting;
    record.lease.state = there ? State::granting : State::cutting;  // everything is handed over anew
    return changed(record);
  }
  const layout::Gpu* const there = gpu(record.place->gpu);
  const bool was_cutting = record.lease.state == State::cutting;
  const bool can_be_cut = there != nullptr && !there->fault && !record.place->whole_gpu;
  if (can_be_cut && (new_epoch || was_cutting)) {
    record.lease.state = State::cutting;
    lost.push_back(record.lease.id);
    return changed(record);
  }
  if (there != nullptr && !there->fault) event("foreign", record.lease.name, *why);
  end(record, *why);
}

// The same place on each GPU, with MIG mode on again where it went off; where that cannot be, any place that serves.
Result<void> Keeper::cut_again(const std::vector<std::int64_t>& lost) {
  std::map<std::string, std::vector<LeaseRecord*>> by_gpu;
  for (const std::int64_t id : lost) {
    LeaseRecord* const record = book_.find(id);
    if (record != nullptr && record->place) by_gpu[record->place->gpu].push_back(record);
  }
  for (auto& [uuid, records] : by_gpu) {
    auto done = cut_same(uuid, records);
    state_ = TRY(read_node(context_));
    for (LeaseRecord* record : records) {
      const auto why = gone(*record);
      record->lease.state = why ? State::waiting : State::granting;
      record->lease.recut = true;
      if (!why) {
        event("lease.recut", record->lease.name, "its partition was lost and is cut again at the same place");
        TRY_VOID(look_again());
      } else {
        record->place.reset();
        record->lease.grant.reset();
        record->lease.cause = done ? *why : done.error().message;
        pending_[record->bundle] = {};
      }
      changed(*record);
    }
  }
  context_.leased = book_.places(now_);
  state_ = TRY(read_node(context_));
  return place_lost(lost);
}

// A GPU is out of the middle of its operation: what leases had there and did not come again is cut again.
Result<void> Keeper::recut_settled(const std::map<std::string, Error>& were_unfinished) {
  context_.leased = book_.places(now_);
  state_ = TRY(read_node(context_));
  for (const auto& [uuid, error] : were_unfinished)
    if (!unfinished_.contains(uuid)) resting_.erase(uuid);  // the driver does it again
  std::vector<std::int64_t> lost;
  for (auto& [id, record] : book_.live()) {
    if (!record.place || record.place->whole_gpu || !were_unfinished.contains(record.place->gpu)) continue;
    const layout::Gpu* const there = gpu(record.place->gpu);
    if (there == nullptr || there->fault || unfinished_.contains(there->uuid)) continue;
    if (!holds_partition(record.lease.state) || record.lease.state == State::releasing) continue;
    const bool missing = gone(record).has_value();
    if (!missing && record.lease.state != State::cutting) continue;
    record.lease.state = missing ? State::cutting : State::granting;  // from here on pinned, before anyone has a turn
    changed(record);
    if (missing) lost.push_back(id);
  }
  return lost.empty() ? Result<void>() : cut_again(lost);
}

// Those without a place go anywhere; without a queue those for which there is none end.
Result<void> Keeper::place_lost(const std::vector<std::int64_t>& lost) {
  for (const std::int64_t id : lost) {
    LeaseRecord* const record = book_.find(id);
    if (record == nullptr || record->lease.state != State::waiting) continue;
    record->bundle = id;
    const std::string why = record->lease.cause;
    if (auto placed = place(id); !placed) {
      if (queues_ && constraints_of(*record)) continue;
      record->lease.cause_details = {placed.error().message};
      end(*record, why);
      continue;
    }
    record->lease.recut = true;
  }
  pending_.clear();
  if (!cuts_.empty()) (void)TRY(cut(true));
  for (const std::int64_t id : lost)
    if (LeaseRecord* const record = book_.find(id); record != nullptr && record->lease.state == State::cutting) {
      record->lease.state = State::granting;
      changed(*record);
    }
  return {};
}

Result<void> Keeper::cut_same(const std::string& uuid, const std::vector<LeaseRecord*>& records) {
  if (const auto found = unfinished_.find(uuid); found != unfinished_.end()) return std::unexpected(found->second);
  const layout::Gpu& there = *gpu(uuid);
  std::vector<InstanceRecord> instances = record_of(there).instances.value_or(std::vector<InstanceRecord>{});
  for (const LeaseRecord* record : records)
    if (record->place) instances.push_back(record->place->instance);
  const LayoutRecord wanted{true, std::move(instances)};
  const layout::GpuTarget target = TRY(target_of(wanted, there));
  const TargetPlan plan = TRY(plan_targets(state_, std::vector{target}, PlanOptions{}));
  Operation operation;
  operation.epoch = context_.epoch;
  operation.pid = ::getpid();
  operation.command = own_command_;
  for (const GpuWork& work : plan.works) operation.gpus.push_back(work.record);
  std::vector<Action> actions = actions_of(plan.works, PlanOptions{}, 1);
  operation.steps = records_of(actions);
  TRY_VOID(parts_.ledger.begin(operation, now_));
  Executor executor(context_, operation, PlanOptions{}, true);
  if (auto done = executor.run(plan.works, std::move(actions)); !done) {
    TRY_VOID(settle_back(operation));
    return done;
  }
  return parts_.ledger.end(operation.id, false, now_);
}

// What a process that died left outside the ledger.
Result<void> Keeper::remove_leftovers() {
  std::set<std::string, std::less<>> live;
  for (const auto& [id, record] : book_.live())
    if (record.lease.state == State::active || record.lease.state == State::granting) live.insert(record.lease.name);
  for (const std::string& name : TRY(handover_.remove_files_but(live)))
    if (book_.find(std::string_view(name)) == nullptr)
      event("recovered", name, "a CDI file without a lease was removed");
  clear_groups();
  return {};
}

}  // namespace partita::node
