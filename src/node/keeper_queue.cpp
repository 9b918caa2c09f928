// Whose turn it is.
#include <algorithm>

#include "lease/queue.h"
#include "node/keeper.h"

namespace partita::node {
namespace {

using State = api::LeaseState;

// Of those that wait: why is found anew when leases have changed; it costs a search each.
constexpr int kReasonsKept = 8;
constexpr auto kEndsWithin = std::chrono::seconds(12);  // what runs after expiry and grace: SIGTERM, SIGKILL

}  // namespace

// Each waiting request has its turn. As long as each finds room, in order; from the first that finds none on, the queue
// is planned as a whole.
void Keeper::place_all() {
  resize_all();
  const std::vector<std::int64_t> turns = order();
  const bool only_new = !room_changed_;  // the others found no room before, and there is no more of it now
  room_changed_ = false;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const std::int64_t id = turns[i];
    const bool blocked = only_new && !pending_.contains(id);
    Result<void> placed = blocked ? fail(ErrorCode::no_space, "") : place(id);
    if (placed) continue;
    if (placed.error().code == ErrorCode::no_space && queues_)
      return plan_rest({turns.begin() + static_cast<std::ptrdiff_t>(i), turns.end()}, only_new);
    refuse(id, placed.error().message.empty() ? reason(*book_.find(id)) : placed.error());
  }
}

// A resize that delays nobody, because nobody waits or because it takes no more than it has, goes first: it may use the
// room of its own partition. Others have their turn, with what they have staying theirs.
void Keeper::resize_all() {
  const bool others_wait = std::ranges::any_of(book_.live(), [&](const auto& entry) {
    return entry.second.lease.state == State::waiting && !pending_.contains(entry.second.bundle);
  });
  for (auto& [id, pending] : pending_) {
    LeaseRecord* const record = book_.find(id);
    if (record == nullptr || record->lease.state != State::waiting || !pending.before || !pending.before->place)
      continue;
    const LeaseRecord before = *pending.before;
    const bool more = record->quota_slices > before.quota_slices || record->quota_memory > before.quota_memory;
    if (others_wait && more) continue;
    unpin(before);
    (void)place(id);
    if (std::ranges::any_of(kept_rooms(), [&](const LeaseRecord* kept) { return kept->lease.id == before.lease.id; }))
      pin(before);
  }
}

std::vector<std::int64_t> Keeper::order() const {
  std::vector<lease::Waiting> waiting;
  for (const auto& [id, record] : book_.live()) {
    if (record.lease.state != State::waiting || id != record.bundle) continue;
    if (!queues_ && !pending_.contains(id)) continue;
    lease::Waiting& one = waiting.emplace_back();
    one.id = id;
    one.user = record.lease.holder.user;
    one.priority = record.lease.priority;
    one.asked = record.lease.asked;
  }
  if (waiting.size() == 1) return {waiting[0].id};
  return lease::order(waiting, book_.served);
}

void Keeper::plan_rest(const std::vector<std::int64_t>& turns, bool only_new) {
  if (only_new && std::ranges::none_of(turns, [&](std::int64_t id) { return pending_.contains(id); })) return;
  std::vector<lease::Waiting> waiting;
  for (const std::int64_t id : turns) {
    const LeaseRecord& record = *book_.find(id);
    auto constraints = constraints_of(record);
    if (!constraints) {
      refuse(id, constraints.error());
      continue;
    }
    lease::Waiting& one = waiting.emplace_back();
    one.id = id;
    one.user = record.lease.holder.user;
    one.priority = record.lease.priority;
    one.asked = record.lease.asked;
    one.duration = record.duration;
    one.requirement = record.lease.requirement;
    one.count = static_cast<int>(book_.bundle(id).size());
    one.same_gpu = constraints->same_gpu;
    one.most = constraints->most;
    if (const auto kept = reserved_.find(id); kept != reserved_.end()) one.reserved = kept->second;
  }
  reserved_.clear();
  int position = 0;
  for (const lease::Turn& turn : lease::plan_queue(usable(), held(), waiting, now_, geometries_)) {
    if (turn.kept) reserved_[turn.id] = *turn.kept;
    if (passes_quota(turn)) {  // those before it took what was left: the others are planned with what they have now
      std::vector<std::int64_t> others;
      for (const std::int64_t id : turns)
        if (const LeaseRecord* const record = book_.find(id);
            record != nullptr && record->lease.state == State::waiting)
          others.push_back(id);
      return plan_rest(others, only_new);
    }
    if (!turn.now.empty()) {
      if (auto taken = take_turn(turn); !taken) refuse(turn.id, taken.error());
      continue;
    }
    ++position;
    for (LeaseRecord* record : book_.bundle(turn.id)) {
      if (record->lease.queue_position == position && record->lease.estimate == turn.at) continue;
      record->lease.queue_position = position;
      record->lease.estimate = turn.at;
      record->shown = nullptr;
    }
    if (pending_.contains(turn.id))
      refuse(turn.id, reason(*book_.find(turn.id)));
    else if (tells_reasons_ && position <= kReasonsKept)
      tell_reason(turn.id);
  }
}

// GPUs in the middle of an operation take nobody; those where a cut just failed rest.
layout::NodeState Keeper::usable() const {
  layout::NodeState state = state_;
  for (layout::Gpu& there : state.gpus)
    if (unfinished_.contains(there.uuid)) there.fault = "unfinished";
  for (const std::string& uuid : resting())
    for (layout::Gpu& there : state.gpus)
      if (there.uuid == uuid) there.fault = "resting";
  return state;
}

// More than when it was planned, because leases planned together share their quotas.
bool Keeper::passes_quota(const lease::Turn& turn) {
  const std::vector<LeaseRecord*> members = book_.bundle(turn.id);
  for (std::size_t i = 0; i < members.size() && i < turn.now.size(); ++i) {
    const lease::Size size = lease::size_of(state_, turn.now[i]);
    const auto most = most_of(*members[i]);
    if (most && (size.compute_slices > most->compute_slices || size.memory > most->memory)) return true;
  }
  return false;
}

Result<void> Keeper::take_turn(const lease::Turn& turn) {
  const std::vector<LeaseRecord*> members = book_.bundle(turn.id);
  for (std::size_t i = 0; i < members.size() && i < turn.now.size(); ++i)
    TRY_VOID(take_choice(*members[i], turn.now[i]));
  return {};
}

// What live leases have, and until when at the latest.
std::vector<lease::Held> Keeper::held() {
  std::vector<lease::Held> held;
  const auto add = [&](const LeaseRecord& record) {
    const auto& place = record.place;
    if (!place) return;
    lease::Held& one = held.emplace_back();
    one.gpu = place->gpu;
    if (!place->whole_gpu) one.start = place->instance.start;
    one.alone = record.lease.requirement.exclusive_gpu;
    if (record.lease.state == State::releasing)
      one.expires = now_ + kEndsWithin;
    else if (record.lease.expires)
      one.expires = *record.lease.expires + policy_.grace + kEndsWithin;
    else if (!record.lease.granted && record.duration)
      one.expires = now_ + *record.duration + policy_.grace + kEndsWithin;
  };
  for (const auto& [id, record] : book_.live()) add(record);
  for (const LeaseRecord* kept : kept_rooms()) add(*kept);
  return held;
}

}  // namespace partita::node
