// Where leases go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lease/queue.h"
#include "node/keeper.h"
#include "plan/transition.h"

namespace partita::node {

using State = api::LeaseState;

// Each waiting request has its turn, in the queue's order.
void Keeper::place_all() {
  std::vector<lease::Waiting> waiting;
  for (const auto& [id, record] : book_.live()) {
    if (record.lease.state != State::waiting || id != record.bundle) continue;
    if (!queues_ && !pending_.contains(id)) continue;
    waiting.push_back({id, record.lease.holder.user, record.lease.priority, record.lease.asked, record.duration});
  }
  if (waiting.empty()) return;
  blocked_.clear();
  full_.clear();
  const bool only_new = !room_changed_;  // the others found no room before, and there is no more of it now
  room_changed_ = false;
  for (const std::int64_t id : lease::order(waiting, book_.served)) {
    LeaseRecord& record = *book_.find(id);
    const bool skip = (only_new && !pending_.contains(id)) || !may_pass(record);
    if (skip) {
      blocked_.push_back(id);
      continue;
    }
    if (auto placed = place(id); !placed) refuse(id, placed.error());
  }
}

// All of one request, or none.
Result<void> Keeper::place(std::int64_t bundle) {
  const std::vector<LeaseRecord*> members = book_.bundle(bundle);
  if (members.size() == 1) return place_one(*members[0]);
  const layout::NodeState state = state_;
  const std::map<std::string, Cut> cuts = cuts_;
  for (LeaseRecord* record : members) {
    auto placed = place_one(*record);
    if (placed) continue;
    state_ = state;
    cuts_ = cuts;
    for (LeaseRecord* member : members) {
      member->place.reset();
      member->lease.state = State::waiting;
    }
    return placed;
  }
  return {};
}

Result<void> Keeper::place_one(LeaseRecord& record) {
  const api::Requirement& wanted = record.lease.requirement;
  const auto same = [&](const api::Requirement& other) { return other == wanted; };
  const lease::Constraints constraints = TRY(constraints_of(record));
  auto choice = lease::choose(state_, wanted, constraints);
  if (!choice) {
    if (choice.error().code == ErrorCode::no_space && std::ranges::none_of(full_, same)) full_.push_back(wanted);
    return std::unexpected(std::move(choice).error());
  }
  TRY_VOID(take_choice(record, *choice));
  const auto pending = pending_.find(record.bundle);
  if (pending != pending_.end() && pending->second.before) TRY_VOID(handover_.take(record));
  return {};
}

Result<lease::Constraints> Keeper::constraints_of(const LeaseRecord& record) {
  lease::Constraints constraints;
  for (const auto& [gpu, error] : unfinished_) constraints.closed_gpus.push_back(gpu);
  for (const auto& [id, other] : book_.live()) {
    if (!other.place || id == record.lease.id) continue;
    constraints.occupied_gpus.push_back(other.place->gpu);
    if (other.place->whole_gpu || other.lease.requirement.exclusive_gpu)
      constraints.closed_gpus.push_back(other.place->gpu);
  }
  if (const auto& name = record.lease.requirement.same_gpu_as) {
    const LeaseRecord* const other = book_.find(std::string_view(*name));
    if (other == nullptr || !other->place)
      return fail(ErrorCode::not_found, fmt::format("no lease {} has a partition: nothing can be on its GPU", *name));
    constraints.same_gpu = other->place->gpu;
  }
  return constraints;
}

// The state is from here on as it will be.
Result<void> Keeper::take_choice(LeaseRecord& record, const lease::Choice& choice) {
  layout::Gpu* const there = gpu(choice.gpu);
  if (there == nullptr) return fail(ErrorCode::internal, fmt::format("{} is not on this node", choice.gpu));
  LeasePlace place{there->uuid, choice.whole_gpu, {}};
  if (choice.plan.changes()) {
    auto after = TRY(plan::replay(*there, geometry(there->board), choice.plan.steps));
    Cut& cut = cuts_[there->uuid];
    if (cut.steps.empty()) cut.before = *there;
    there->instances = std::move(after);
    cut.steps.insert(cut.steps.end(), choice.plan.steps.begin(), choice.plan.steps.end());
    cut.leases.insert(record.lease.id);
  }
  if (!choice.whole_gpu) {
    const auto instance = std::ranges::find_if(there->instances, [&](const layout::GpuInstance& i) {
      return i.profile == choice.profile && i.placement.start == choice.start;
    });
    if (instance == there->instances.end())
      return fail(ErrorCode::internal, fmt::format("GPU {}: the chosen place is empty", there->index));
    place.instance = record_of(*there->board, true, {*instance}).instances->front();
    place.instance.foreign = false;
  }
  record.place = std::move(place);
  record.lease.recut = choice.plan.changes();
  record.lease.state = choice.plan.changes() ? State::cutting : State::granting;
  record.lease.cause.clear();
  record.lease.cause_details = choice.warnings;
  changed(record);
  pin(record);
  return {};
}

// Nothing for this request now: it waits, or its caller is told why not.
void Keeper::refuse(std::int64_t bundle, const Error& error) {
  const auto found = pending_.find(bundle);
  Pending pending;
  if (found != pending_.end()) pending = std::move(found->second);
  const std::vector<LeaseRecord*> members = book_.bundle(bundle);
  const bool asked_now = pending.call != nullptr && !pending.call->error;
  const bool told = !members.empty() && members[0]->told;
  const bool no_wait = asked_now && pending.call->request != nullptr && pending.call->request->no_wait;
  // Something that is in use now will not be for ever.
  const bool only_full = error.code == ErrorCode::no_space || error.code == ErrorCode::busy;
  const bool resizes = pending.before && pending.before->lease.state != State::parked;
  if (only_full && queues_ && !no_wait && !resizes) {
    blocked_.push_back(bundle);
    for (LeaseRecord* record : members) {
      if (record->told && record->lease.cause == error.message) continue;
      if (!record->told) event("lease.waiting", record->lease.name, error.message);
      record->told = true;
      record->lease.cause = error.message;
      record->lease.cause_details = error.details;
      changed(*record);
    }
    return;
  }
  if (asked_now) pending.call->error = error;
  if (pending.before) return put_back(*members[0], std::move(*pending.before));
  for (LeaseRecord* record : members) {
    unpin(*record);
    if (told) {
      record->lease.cause_details = error.details;
      end(*record, error.message);
      continue;
    }
    changed_.erase(record->lease.id);
    if (record->stored) dropped_.push_back(record->lease.id);
    (void)book_.take(record->lease.id);
  }
}

// A lease that was to change is as it was.
void Keeper::put_back(LeaseRecord& record, LeaseRecord before) {
  record = std::move(before);
  if (record.place) {
    pin(record);
    record.lease.state = State::granting;  // its permissions may have been taken already
  }
  changed(record);
}

void Keeper::pin(const LeaseRecord& record) {
  layout::Gpu* const there = gpu(record.place->gpu);
  if (there == nullptr) return;
  const layout::Pin pin{layout::Pin::Reason::leased, lease_text(record, now_)};
  if (record.place->whole_gpu) {
    there->pins.push_back(pin);
    return;
  }
  for (layout::GpuInstance& instance : there->instances)
    if (instance.placement.start == record.place->instance.start) instance.pins.push_back(pin);
}

void Keeper::unpin(const LeaseRecord& record) {
  layout::Gpu* const there = record.place ? gpu(record.place->gpu) : nullptr;
  if (there == nullptr) return;
  const auto leased = [](const layout::Pin& pin) { return pin.reason == layout::Pin::Reason::leased; };
  if (record.place->whole_gpu) std::erase_if(there->pins, leased);
  for (layout::GpuInstance& instance : there->instances)
    if (!record.place->whole_gpu && instance.placement.start == record.place->instance.start)
      std::erase_if(instance.pins, leased);
}

const plan::Geometry& Keeper::geometry(const std::shared_ptr<const catalog::Board>& board) {
  auto& [kept, made] = geometries_[board.get()];
  if (!made) {
    kept = board;
    made = std::make_unique<plan::Geometry>(*board);
  }
  return *made;
}

bool Keeper::may_pass(const LeaseRecord& record) const {
  const auto same = [&](const api::Requirement& other) { return other == record.lease.requirement; };
  return std::ranges::none_of(full_, same);
}

}  // namespace partita::node
