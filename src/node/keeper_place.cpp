// Where leases go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/keeper.h"
#include "plan/transition.h"

namespace partita::node {

using State = api::LeaseState;

namespace {

constexpr std::string_view kOfThisRequest = "another lease of this request";

// As if it were taken, for the lease of the same request that comes next: foreign, as nobody is to release it.
Result<void> suppose(layout::NodeState& state, const lease::Choice& choice, lease::Geometries& geometries) {
  for (layout::Gpu& there : state.gpus) {
    if (there.uuid != choice.gpu) continue;
    if (choice.plan.changes())
      there.instances = TRY(plan::replay(there, geometries.of(there.board), choice.plan.steps));
    for (layout::GpuInstance& instance : there.instances)
      if (!choice.whole_gpu && instance.placement.start == choice.start)
        instance.pins.push_back({layout::Pin::Reason::foreign, std::string(kOfThisRequest)});
  }
  return {};
}

// `next`: why there is no place for the one after those that fit.
Error some_fit(std::size_t fit, std::size_t asked, Error next) {
  std::string message =
      fmt::format("{} of {} leases {} now, and they are given all or none", fit, asked, fit == 1 ? "fits" : "fit");
  if (next.message.find(kOfThisRequest) == std::string::npos) message += "; of the next: " + next.message;
  return {next.code, std::move(message), std::move(next.details)};
}

// The pin names the lease alone: until when it holds is told of its occupant.
void leave_expiry_out(layout::NodeState& state, const LeaseRecord& record) {
  if (!record.place) return;
  const LeasePlace& place = *record.place;
  const auto there = std::ranges::find(state.gpus, place.gpu, &layout::Gpu::uuid);
  if (there == state.gpus.end() || place.whole_gpu) return;
  for (layout::GpuInstance& instance : there->instances)
    for (layout::Pin& pin : instance.pins)
      if (instance.placement.start == place.instance.start && pin.reason == layout::Pin::Reason::leased)
        pin.holder = lease_name_text(record);
}

}  // namespace

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
    for (LeaseRecord* member : members) wait_again(*member);
    return placed;
  }
  return {};
}

Result<void> Keeper::place_one(LeaseRecord& record) {
  const lease::Constraints constraints = TRY(constraints_of(record));
  const auto choice = TRY(lease::find_place(state_, record.lease.requirement, constraints, geometries_));
  if (!choice) return fail(ErrorCode::no_space, "");  // reason() says why
  return take_choice(record, *choice);
}

// Why there is no place now for the leases of a request.
Error Keeper::reason(const LeaseRecord& record) {
  auto constraints = constraints_of(record);
  if (!constraints) return std::move(constraints).error();
  layout::NodeState state = state_;
  for (const auto& [id, other] : book_.live()) {
    if (!other.place || id == record.lease.id) continue;
    constraints->occupants.push_back(
        {other.lease.name, other.place->gpu,
         other.place->whole_gpu ? std::nullopt : std::optional(other.place->instance.start), other.lease.expires});
    leave_expiry_out(state, other);
  }
  const api::Requirement& wanted = record.lease.requirement;
  const std::size_t asked = book_.bundle(record.bundle).size();
  for (std::size_t fit = 0; fit < asked; ++fit) {
    auto choice = lease::choose(state, wanted, *constraints, geometries_);
    if (!choice) return fit == 0 ? std::move(choice).error() : some_fit(fit, asked, std::move(choice).error());
    if (const auto taken = suppose(state, *choice, geometries_); !taken) return taken.error();
    if (wanted.whole_gpu || wanted.exclusive_gpu) constraints->closed_gpus.push_back(choice->gpu);
  }
  return Error{ErrorCode::no_space, "there is room, but it is kept for requests that came before", {}};
}

Result<lease::Constraints> Keeper::constraints_of(const LeaseRecord& record) {
  lease::Constraints constraints;
  const api::Requirement& wanted = record.lease.requirement;
  constraints.most = most_of(record);
  for (const auto& [gpu, error] : unfinished_) constraints.closed_gpus.push_back(gpu);
  // What was parked comes back where its place was made ready, so that room made meanwhile stays.
  const auto change = pending_.find(record.bundle);
  const std::optional<LeaseRecord> none;
  const std::optional<LeaseRecord>& before = change != pending_.end() ? change->second.before : none;
  constraints.cuts_last = before && before->lease.state == State::parked;
  if (record.told && !pending_.contains(record.bundle))
    for (std::string& gpu : resting()) constraints.closed_gpus.push_back(std::move(gpu));
  const auto beside = [&](const LeaseRecord& other) {
    if (!other.place || other.lease.id == record.lease.id) return;
    if (wanted.exclusive_gpu) constraints.occupied_gpus.push_back(other.place->gpu);
    if (other.place->whole_gpu || other.lease.requirement.exclusive_gpu)
      constraints.closed_gpus.push_back(other.place->gpu);
  };
  for (const auto& [id, other] : book_.live()) beside(other);
  for (const auto& [id, pending] : pending_)
    if (pending.before) beside(*pending.before);  // it may have to be put back
  if (wanted.same_gpu_as) {
    const LeaseRecord* const other = book_.find(std::string_view(*wanted.same_gpu_as));
    if (other == nullptr || !other->place)
      return fail(ErrorCode::not_found,
                  fmt::format("no lease {} has a partition: nothing can be on its GPU", *wanted.same_gpu_as));
    constraints.same_gpu = other->place->gpu;
  }
  return constraints;
}

// The state is from here on as it will be.
Result<void> Keeper::take_choice(LeaseRecord& record, const lease::Choice& choice) {
  layout::Gpu* const there = gpu(choice.gpu);
  if (there == nullptr) return fail(ErrorCode::internal, fmt::format("{} is not on this node", choice.gpu));
  const auto pending = pending_.find(record.bundle);
  if (pending != pending_.end() && pending->second.before) TRY_VOID(handover_.take(record));
  LeasePlace place{there->uuid, choice.whole_gpu, {}};
  if (choice.plan.changes()) {
    auto after = TRY(plan::replay(*there, geometries_.of(there->board), choice.plan.steps));
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
    place.instance = instance_record(*there->board, *instance);
    place.instance.foreign = false;
  }
  const lease::Size size = lease::size_of(state_, choice);
  record.quota_slices = size.compute_slices;
  record.quota_memory = size.memory;
  record.place = std::move(place);
  record.lease.recut = choice.plan.changes();
  record.lease.state = choice.plan.changes() ? State::cutting : State::granting;
  record.lease.queue_position.reset();
  record.lease.estimate.reset();
  record.lease.cause.clear();
  record.lease.cause_details = choice.warnings;
  record.moved = true;
  changed(record);
  pin(record);
  return {};
}

// It has no place, and counts no more than was asked.
void Keeper::wait_again(LeaseRecord& record) {
  record.place.reset();
  record.lease.state = State::waiting;
  const auto least = lease::size_of(state_, record.lease.requirement);
  if (!least) return;
  record.quota_slices = least->compute_slices;
  record.quota_memory = least->memory;
}

// Nothing for this request now: it waits, or its caller is told why not.
void Keeper::refuse(std::int64_t bundle, const Error& error) {
  Pending none;
  const auto found = pending_.find(bundle);
  Pending& pending = found == pending_.end() ? none : found->second;
  const std::vector<LeaseRecord*> members = book_.bundle(bundle);
  const bool asked_now = pending.call != nullptr && !pending.call->error;
  const bool told = !members.empty() && members[0]->told;
  const bool no_wait = asked_now && pending.call->request != nullptr && pending.call->request->no_wait;
  // Something that is in use now will not be for ever. Who waits outlives all that can change: drivers that fail, GPUs
  // that are lost, modes that are off; not the end of the lease that it has to be beside.
  bool waits_on = error.code == ErrorCode::no_space || error.code == ErrorCode::busy;
  waits_on |= told && pending.call == nullptr && constraints_of(*members[0]).has_value();
  const bool resizes = pending.before && pending.before->lease.state != State::parked;
  if (waits_on && queues_ && !no_wait && !resizes) {
    for (LeaseRecord* record : members) {
      if (record->told && record->lease.cause == error.message) continue;
      event("lease.waiting", record->lease.name, error.message);
      record->told = true;
      record->lease.cause = error.message;
      record->lease.cause_details = error.details;
      changed(*record);
    }
    return;
  }
  if (asked_now) pending.call->error = error;
  if (auto before = std::exchange(pending.before, std::nullopt)) return put_back(*members[0], *std::move(before));
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

// Why it waits now. Not stored: it is found again.
void Keeper::tell_reason(std::int64_t bundle) {
  const Error now = reason(*book_.find(bundle));
  for (LeaseRecord* record : book_.bundle(bundle)) {
    if (record->lease.cause == now.message && record->lease.cause_details == now.details) continue;
    record->lease.cause = now.message;
    record->lease.cause_details = now.details;
    record->shown = nullptr;
  }
}

std::vector<std::string> Keeper::resting() const {
  std::vector<std::string> gpus;
  for (const auto& [gpu, rest] : resting_)
    if (now_ < rest.until) gpus.push_back(gpu);
  return gpus;
}

// A lease that was to change is as it was.
void Keeper::put_back(LeaseRecord& record, LeaseRecord before) {
  record = std::move(before);
  if (record.place) {
    unpin(record);
    pin(record);
    record.lease.state = State::granting;  // its permissions may have been taken already
  }
  changed(record);
}

// What leases that change had stays theirs until the change is done, unless the change is made in that very place: it
// may have to be put back.
std::vector<const LeaseRecord*> Keeper::kept_rooms() {
  std::vector<const LeaseRecord*> kept;
  for (const auto& [id, pending] : pending_) {
    const LeaseRecord* const record = book_.find(id);
    if (record == nullptr || !pending.before || !pending.before->place) continue;
    const auto& now = record->place;
    const auto& had = pending.before->place;
    const bool reused = now && now->gpu == had->gpu && now->instance.start == had->instance.start;
    if (!reused) kept.push_back(&*pending.before);
  }
  return kept;
}

void Keeper::pin(const LeaseRecord& record) {
  const auto& place = record.place;
  layout::Gpu* const there = place ? gpu(place->gpu) : nullptr;
  if (!place || there == nullptr) return;
  const layout::Pin pin{layout::Pin::Reason::leased, lease_text(record, now_)};
  if (place->whole_gpu) there->pins.push_back(pin);
  for (layout::GpuInstance& instance : there->instances)
    if (!place->whole_gpu && instance.placement.start == place->instance.start) instance.pins.push_back(pin);
}

void Keeper::unpin(const LeaseRecord& record) {
  const auto& place = record.place;
  layout::Gpu* const there = place ? gpu(place->gpu) : nullptr;
  if (!place || there == nullptr) return;
  const auto leased = [](const layout::Pin& pin) { return pin.reason == layout::Pin::Reason::leased; };
  if (place->whole_gpu) std::erase_if(there->pins, leased);
  for (layout::GpuInstance& instance : there->instances)
    if (!place->whole_gpu && instance.placement.start == place->instance.start) std::erase_if(instance.pins, leased);
}

}  // namespace partita::node
