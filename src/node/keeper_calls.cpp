// What callers ask.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/duration.h"
#include "base/text.h"
#include "node/keeper.h"
#include "node/lease_names.h"
#include "node/process_id.h"

namespace partita::node {
namespace {

using State = api::LeaseState;
using Verb = LeaseCall::Verb;

Result<void> may_change(const api::Caller& caller) {
  if (!caller.viewer) return {};
  return fail(ErrorCode::denied,
              fmt::format("{} may look, not change: ask an administrator for the role user", caller_text(caller)));
}

// The holder as it is kept: users and processes are the caller's own, unless an administrator says otherwise.
Result<api::Holder> holder_of(const api::LeaseRequest& request) {
  api::Holder holder = request.holder;
  const api::Caller& caller = request.caller;
  if (holder.user.empty()) {
    holder.uid = caller.uid;
    holder.user = caller.name.empty() ? fmt::format("uid {}", caller.uid) : caller.name;
  }
  if (!caller.administrator && (holder.uid != caller.uid || (!caller.name.empty() && holder.user != caller.name)))
    return fail(ErrorCode::denied, fmt::format("{} may not lease for {}", caller_text(caller), holder.user));
  if (!holder.process) return holder;
  const auto facts = process_facts(holder.process->pid);
  if (!facts || facts->id != *holder.process)
    return fail(ErrorCode::not_found, fmt::format("the holder's process, pid {}, does not run", holder.process->pid));
  if (!caller.administrator && facts->uid != caller.uid)
    return fail(ErrorCode::denied, fmt::format("pid {} is not {}'s process", holder.process->pid, caller_text(caller)));
  return holder;
}

bool is_holder(const api::Caller& caller, const LeaseRecord& record) {
  return record.lease.holder.uid == caller.uid && (caller.name.empty() || record.lease.holder.user == caller.name);
}

// What the caller and the caller's groups have. To check a quota nobody else's is needed, nor names of leases.
lease::Usages sums_of(const Book& book, const api::Caller& caller, std::int64_t without) {
  lease::Usages usages;
  const auto count = [](lease::Usage& usage, const LeaseRecord& record) {
    ++usage.partitions;
    usage.compute_slices += record.quota_slices;
    usage.memory.value += record.quota_memory.value;
  };
  lease::Usage& own = usages.users[caller.name];
  for (const std::string& group : caller.groups) usages.groups[group];
  for (const auto& [id, record] : book.live()) {
    if (id == without) continue;
    if (record.lease.holder.user == caller.name) count(own, record);
    for (auto& [group, usage] : usages.groups)
      if (std::ranges::find(record.groups, group) != record.groups.end()) count(usage, record);
  }
  return usages;
}

}  // namespace

void Keeper::begin(LeaseCall& call) {
  auto done = call.verb == Verb::lease ? ask(call) : change(call);
  if (!done) call.error = std::move(done).error();
}

Result<void> Keeper::ask(LeaseCall& call) {
  const api::LeaseRequest& request = *call.request;
  TRY_VOID(may_change(request.caller));
  TRY_VOID(check_request(request));
  TRY_VOID(lease::check(request.requirement));
  LeaseRecord record;
  record.lease.holder = TRY(holder_of(request));
  if (TRY(asked_before(call)) || TRY(same_again(call))) return {};
  record.duration = TRY(lease::duration_of(policy_, request.caller, request.duration));
  TRY_VOID(lease::check_priority(policy_, request.caller, request.priority));
  const lease::Size size = TRY(lease::size_of(state_, request.requirement));
  TRY_VOID(check_quota(request.caller, 0,
                       {request.count, size.compute_slices * request.count,
                        Bytes{size.memory.value * static_cast<std::uint64_t>(request.count)}}));
  record.lease.requirement = request.requirement;
  record.lease.priority = request.priority;
  record.lease.labels = request.labels;
  record.lease.host_limits = request.host_limits;
  record.lease.asked = now_;
  record.groups = request.caller.groups;
  record.administrator = request.caller.administrator;
  record.quota_slices = size.compute_slices;
  record.quota_memory = size.memory;
  record.bundle = book_.numbers.last_lease + 1;
  for (int n = 1; n <= request.count; ++n) {
    record.lease.id = ++book_.numbers.last_lease;
    record.lease.name = request.count == 1 ? request.name : fmt::format("{}-{}", request.name, n);
    if (request.name.empty()) record.lease.name = made_name(record.lease.holder.user, record.lease.id);
    if (book_.find(std::string_view(record.lease.name)) != nullptr)
      record.lease.name = fmt::format("lease-{}", record.lease.id);
    changed(book_.add(record));
    call.ids.push_back(record.lease.id);
  }
  if (request.once) asked_.push_back({*request.once, record.bundle, request.count});
  pending_[record.bundle] = {&call, std::nullopt};
  return {};
}

// The same key once more: what it was answered with is there, or has ended meanwhile.
Result<bool> Keeper::asked_before(LeaseCall& call) {
  const auto& once = call.request->once;
  if (!once) return false;
  const auto in_group = std::ranges::find(asked_, once->key, [](const Asked& one) { return one.once.key; });
  const auto before = in_group != asked_.end() ? std::optional(*in_group) : TRY(leases_.asked(once->key));
  if (!before) return false;
  if (before->once.text != once->text)
    return fail(ErrorCode::invalid, "the key was used for another request: take a new one");
  for (std::int64_t id = before->first_lease; id < before->first_lease + before->count; ++id) {
    if (book_.find(id) != nullptr)
      call.ids.push_back(id);
    else if (auto ended = TRY(leases_.find(id)))
      call.leases.push_back(std::move(ended->lease));
  }
  if (call.ids.empty() && call.leases.empty())
    return fail(ErrorCode::not_found, "what was asked with this key has ended long ago: take a new key");
  return true;
}

// Asking once more for what is there already gives it again.
Result<bool> Keeper::same_again(LeaseCall& call) {
  const api::LeaseRequest& request = *call.request;
  if (request.name.empty()) return false;
  std::vector<LeaseRecord*> found;
  for (int n = 1; n <= request.count; ++n) {
    const std::string name = request.count == 1 ? request.name : fmt::format("{}-{}", request.name, n);
    LeaseRecord* const record = book_.find(std::string_view(name));
    if (record == nullptr) continue;
    if (!is_holder(request.caller, *record) && !request.caller.administrator)
      return fail(ErrorCode::denied,
                  fmt::format("the name {} is taken by a lease of {}", name, record->lease.holder.user));
    if (record->lease.requirement != request.requirement)
      return fail(
          ErrorCode::invalid,
          fmt::format("lease {} exists and asks for something else: resize or release it, or take another name", name));
    if (record->lease.state == State::releasing)
      return fail(ErrorCode::busy, fmt::format("lease {} is being released: try again when it has ended", name));
    found.push_back(record);
  }
  if (found.empty()) return false;
  if (static_cast<int>(found.size()) != request.count)
    return fail(ErrorCode::invalid,
                fmt::format("{} of the {} leases {}-1 to {}-{} exist already: release them first", found.size(),
                            request.count, request.name, request.name, request.count));
  for (LeaseRecord* record : found) call.ids.push_back(record->lease.id);
  return true;
}

Result<void> Keeper::check_quota(const api::Caller& caller, std::int64_t without, const lease::Usage& wanted) {
  if (policy_.file.empty()) return {};
  if (lease::check_quota(policy_, caller, sums_of(book_, caller, without), wanted)) return {};
  return lease::check_quota(policy_, caller, book_.usages(without), wanted);  // says who has what
}

// As much as its quota allows it to have, so that a larger partition than was asked for passes none.
std::optional<lease::Size> Keeper::most_of(const LeaseRecord& record) {
  if (policy_.file.empty()) return std::nullopt;
  const api::Holder& holder = record.lease.holder;
  const api::Caller caller{holder.uid, holder.user, record.administrator, false, record.groups};
  const lease::Usage left = lease::left(policy_, caller, sums_of(book_, caller, record.lease.id));
  const auto members = std::max<std::size_t>(1, book_.bundle(record.lease.id).size());  // each may be larger
  const int slices = std::max(0, left.compute_slices - record.quota_slices) / static_cast<int>(members);
  const std::uint64_t memory = left.memory > record.quota_memory ? left.memory.value - record.quota_memory.value : 0;
  return lease::Size{record.quota_slices + slices, Bytes{record.quota_memory.value + memory / members}};
}

Result<void> Keeper::change(LeaseCall& call) {
  const api::LeaseChange& change = *call.change;
  TRY_VOID(may_change(change.caller));
  LeaseRecord* const record = book_.find(std::string_view(change.name));
  if (record == nullptr) {
    std::vector<std::string> names;
    for (const auto& [id, live] : book_.live()) names.push_back(live.lease.name);
    return fail(ErrorCode::not_found,
                fmt::format("no lease is called {}{}", quote(change.name), did_you_mean(change.name, names)));
  }
  if (!is_holder(change.caller, *record) && !(change.caller.administrator && change.force))
    return fail(ErrorCode::denied, fmt::format("lease {} is {}'s{}", change.name, record->lease.holder.user,
                                               change.caller.administrator ? ": --force changes it nevertheless" : ""));
  if (pending_.contains(record->bundle) && call.verb != Verb::release)
    return fail(ErrorCode::busy, fmt::format("lease {} is being changed by another call: try again", change.name));
  const std::int64_t id = record->lease.id;
  if (call.verb != Verb::release && settle_expiry(*record, true) && book_.find(id) == nullptr)
    return fail(ErrorCode::not_found, fmt::format("lease {} has expired", change.name));
  call.ids.push_back(id);
  switch (call.verb) {
    case Verb::release:
      begin_end(*record, fmt::format("released by {}", caller_text(change.caller)), change.grace);
      return {};
    case Verb::renew:
      return renew(call, *record);
    case Verb::resize:
      return resize(call, *record);
    case Verb::park:
      return park(*record);
    case Verb::unpark:
      return unpark(call, *record);
    default:
      return attach(call, *record);
  }
}

Result<void> Keeper::renew(LeaseCall& call, LeaseRecord& record) {
  if (record.lease.state == State::releasing)
    return fail(ErrorCode::busy, fmt::format("lease {} is being released", record.lease.name));
  record.duration =
      TRY(lease::duration_of(policy_, call.change->caller, call.duration ? call.duration : record.duration));
  record.warned = false;
  record.lease.expires.reset();
  if (record.duration && record.lease.granted) record.lease.expires = now_ + *record.duration;
  event("lease.renewed", record.lease.name,
        record.duration ? "for " + partita::to_string(*record.duration) : "until released");
  changed(record);
  return {};
}

Result<void> Keeper::check_idle(const LeaseRecord& record) {
  std::vector<std::string> runs = TRY(running(record));
  if (runs.empty()) return {};
  return fail(ErrorCode::busy,
              fmt::format("lease {} is in use by {}: end that first", record.lease.name, join(runs, ", ")));
}

Result<void> Keeper::resize(LeaseCall& call, LeaseRecord& record) {
  if (record.lease.state != State::active && record.lease.state != State::parked)
    return fail(ErrorCode::busy, fmt::format("lease {} is {}: only one that is active or parked can be resized",
                                             record.lease.name, api::to_string(record.lease.state)));
  TRY_VOID(lease::check(*call.requirement));
  TRY_VOID(check_idle(record));
  const lease::Size size = TRY(lease::size_of(state_, *call.requirement));
  TRY_VOID(check_quota(call.change->caller, record.lease.id, {1, size.compute_slices, size.memory}));
  LeaseRecord before = record;
  record.lease.requirement = *call.requirement;
  record.quota_slices = size.compute_slices;
  record.quota_memory = size.memory;
  changed(record);
  if (record.lease.state == State::parked) return {};
  record.place.reset();  // what it has stays pinned until it has another one: it may have to be put back
  record.lease.state = State::waiting;
  record.bundle = record.lease.id;  // from here on it is one by itself
  pending_[record.bundle] = {&call, std::move(before)};
  return {};
}

Result<void> Keeper::park(LeaseRecord& record) {
  if (record.lease.state == State::parked) return {};
  if (record.lease.state != State::active)
    return fail(ErrorCode::busy, fmt::format("lease {} is {}: only an active one can be parked", record.lease.name,
                                             api::to_string(record.lease.state)));
  TRY_VOID(check_idle(record));
  TRY_VOID(handover_.take(record));
  TRY_VOID(handover_.dissolve(record.lease.name));
  unpin(record);
  room_changed_ = true;
  record.place.reset();
  record.lease.grant.reset();
  record.lease.state = State::parked;
  record.bundle = record.lease.id;
  event("lease.parked", record.lease.name, "its partition is free for others");
  changed(record);
  return {};
}

Result<void> Keeper::unpark(LeaseCall& call, LeaseRecord& record) {
  if (record.lease.state == State::active) return {};
  if (record.lease.state != State::parked)
    return fail(ErrorCode::busy, fmt::format("lease {} is {}: only a parked one can be unparked", record.lease.name,
                                             api::to_string(record.lease.state)));
  LeaseRecord before = record;
  record.lease.state = State::waiting;
  pending_[record.bundle] = {&call, std::move(before)};
  changed(record);
  return {};
}

Result<void> Keeper::attach(LeaseCall& call, LeaseRecord& record) {
  if (record.lease.state != State::active)
    return fail(ErrorCode::busy, fmt::format("lease {} is {}: a process can use it once it is active",
                                             record.lease.name, api::to_string(record.lease.state)));
  const auto facts = process_facts(call.process.pid);
  if (!facts || facts->id != call.process)
    return fail(ErrorCode::not_found, fmt::format("pid {} does not run", call.process.pid));
  if (!call.change->caller.administrator && facts->uid != call.change->caller.uid)
    return fail(ErrorCode::denied,
                fmt::format("pid {} is not {}'s process", call.process.pid, caller_text(call.change->caller)));
  TRY_VOID(handover_.confine(record, call.process.pid));
  // Its number may have gone to another one before it was confined.
  if (!is_alive(call.process)) {
    TRY_VOID(handover_.let_out(record.lease.name, call.process.pid));
    return fail(ErrorCode::not_found, fmt::format("pid {} has ended", call.process.pid));
  }
  return handover_.register_processes(record, call.process.pid);
}

}  // namespace partita::node
