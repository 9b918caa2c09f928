#include "node/keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/apply.h"

namespace partita::node {
namespace {

constexpr int kMostAttempts = 3;

}  // namespace

Keeper::Keeper(const Parts& parts, lease::Policy policy, bool queues)
    : parts_(parts),
      policy_(std::move(policy)),
      queues_(queues),
      context_{parts.driver,
               parts.ledger,
               parts.clock,
               parts.options,
               read_epoch(parts.options.driver.device_root),
               silent_,
               false,
               false,
               {},
               {}},
      handover_(parts.driver, parts.options),
      leases_(parts.ledger) {
  context_.beside_others = queues;
}

Result<void> Keeper::serve(std::span<LeaseCall* const> calls, bool tick) {
  auto done = serve_once(calls, tick);
  if (done) {
    answer(calls);
    return {};
  }
  // What is in memory may be ahead of the ledger: it is read again before the next group.
  stale_ = true;
  forget_changes();
  for (LeaseCall* call : calls)
    if (!call->error) call->error = done.error();
  return done;
}

Result<void> Keeper::serve_once(std::span<LeaseCall* const> calls, bool tick) {
  TRY_VOID(catch_up());
  look_at_clock();
  if (tick) TRY_VOID(settle_unfinished());
  TRY_VOID(look());
  settle(tick);
  room_changed_ |= tick;  // processes of others may have ended
  tells_reasons_ = tick && std::exchange(reasons_old_, false);
  for (LeaseCall* call : calls) begin(*call);
  for (int attempt = 1;; ++attempt) {
    place_all();
    if (cuts_.empty()) break;
    if (!TRY(cut(attempt == kMostAttempts))) break;  // nothing to plan again
  }
  TRY_VOID(grant_all());
  TRY_VOID(store("leases", {}));
  pending_.clear();
  return {};
}

// What is in memory is as the ledger is, and of this boot and load of the driver.
Result<void> Keeper::catch_up() {
  const bool other_epoch = read_epoch(parts_.options.driver.device_root) != context_.epoch;
  if (other_epoch) TRY_VOID(parts_.driver.reopen());
  if (stale_ || other_epoch) TRY_VOID(open());
  return {};
}

// One that was set back puts off nothing that is to happen in a while.
void Keeper::look_at_clock() {
  const Time now = parts_.clock.now();
  const auto back = now_ - now;
  if (back > back.zero()) {
    for (auto& [id, record] : book_.live())
      if (record.kill_at) *record.kill_at -= back;
    for (auto& [gpu, rest] : resting_) rest.until -= back;
  }
  now_ = now;
}

// A lost GPU may be back, a driver that refused may do it now.
Result<void> Keeper::settle_unfinished() {
  // The journal is what counts: between two groups nothing in it is open but what could not be settled.
  if (unfinished_.empty() && TRY(parts_.ledger.open_operations()).empty()) return {};
  context_.leased = book_.places(now_);
  context_.refused.clear();
  closed_.clear();
  looked_ = false;  // what is other afterwards is no foreign change
  const auto recovered = recover(context_);
  if (!recovered) return {};
  const auto before = std::exchange(unfinished_, {});
  for (const Unfinished& left : recovered->unfinished) unfinished_.insert_or_assign(left.gpu, left.error);
  for (const std::string& note : recovered->notes) event("layout.changed", "", note);
  room_changed_ = true;
  return recut_settled(before);
}

// The node as it is now, and what happened to it that nobody told.
Result<void> Keeper::look() {
  context_.leased = book_.places(now_);
  context_.refused.clear();
  layout::NodeState before = std::exchange(state_, TRY(read_node(context_)));
  if (std::exchange(looked_, true)) note_foreign(before);
  std::vector<LeaseRecord*> lost;
  for (auto& [id, record] : book_.live())
    if (record.place && holds_partition(record.lease.state) && gone(record)) lost.push_back(&record);
  for (LeaseRecord* record : lost) {
    const std::string why = gone(*record).value_or("");
    const layout::Gpu* const there = record->place ? gpu(record->place->gpu) : nullptr;
    if (taken_by_ == kSomeoneElse && there != nullptr && !there->fault) event("foreign", record->lease.name, why);
    end(*record, why);
  }
  return close_idle();
}

// GPUs of operations that are open take nobody, whoever left them.
Result<void> Keeper::note_open(const Error& why) {
  for (const Operation& operation : TRY(parts_.ledger.open_operations()))
    for (const OperationGpu& gpu : operation.gpus) unfinished_.try_emplace(gpu.gpu, why);
  return {};
}

void Keeper::event(std::string_view kind, std::string_view lease, std::string text) {
  events_.push_back({++book_.numbers.last_event, now_, std::string(kind), std::string(lease), std::move(text)});
}

void Keeper::changed(LeaseRecord& record) {
  changed_.insert(record.lease.id);
  reasons_old_ = true;
  record.shown = nullptr;
}

layout::Gpu* Keeper::gpu(std::string_view uuid) {
  const auto found = std::ranges::find(state_.gpus, uuid, &layout::Gpu::uuid);
  return found == state_.gpus.end() ? nullptr : &*found;
}

const layout::GpuInstance* Keeper::partition(const LeaseRecord& record) {
  if (!record.place || record.place->whole_gpu) return nullptr;
  const layout::Gpu* const there = gpu(record.place->gpu);
  return there == nullptr ? nullptr : instance_at(*there, *record.place);
}

// All changes so far, and the operations that begin with them, in one write that survives a power cut.
Result<void> Keeper::store(std::string_view what, const std::vector<Operation*>& begun) {
  if (begun.empty() && changed_.empty() && ended_.empty() && events_.empty() && dropped_.empty()) return {};
  Ledger::Group group = TRY(parts_.ledger.group(true));
  for (Operation* operation : begun) TRY_VOID(parts_.ledger.begin(*operation, now_));
  TRY_VOID(write_changes());
  TRY_VOID(group.commit(what));
  std::ranges::move(ended_, std::back_inserter(told_ended_));
  std::ranges::move(events_, std::back_inserter(told_events_));
  forget_changes();
  return {};
}

Result<void> Keeper::write_changes() {
  for (const std::int64_t id : dropped_) TRY_VOID(leases_.drop(id));
  for (LeaseRecord& record : ended_) TRY_VOID(leases_.store_ended(record, ++book_.numbers.last_ended));
  for (const std::int64_t id : changed_)
    if (LeaseRecord* const record = book_.find(id)) {
      record->stored = true;
      TRY_VOID(leases_.store(*record));
    }
  for (const Asked& asked : asked_)
    if (book_.find(asked.first_lease) != nullptr) TRY_VOID(leases_.store_asked(asked, now_));
  for (const std::string& user : served_users_) TRY_VOID(leases_.store_service(user, book_.served[user]));
  return leases_.store_events(events_);
}

void Keeper::forget_changes() {
  changed_.clear();
  dropped_.clear();
  asked_.clear();
  ended_.clear();
  events_.clear();
  served_users_.clear();
  cuts_.clear();
}

void Keeper::answer(std::span<LeaseCall* const> calls) {
  for (LeaseCall* call : calls) {
    if (call->error) continue;
    for (const std::int64_t id : call->ids) {
      if (const LeaseRecord* const record = book_.find(id)) {
        call->leases.push_back(record->lease);
        continue;
      }
      const auto ended = std::ranges::find(told_ended_, id, [](const LeaseRecord& r) { return r.lease.id; });
      if (ended != told_ended_.end()) call->leases.push_back(ended->lease);
    }
  }
}

Result<api::ApplyAnswer> Keeper::apply(const api::PlanRequest& request, Progress& progress, Recovered before) {
  if (auto current = catch_up(); !current) {
    stale_ = true;
    return std::unexpected(std::move(current).error());
  }
  look_at_clock();
  Context context{parts_.driver, parts_.ledger, parts_.clock, parts_.options,    context_.epoch, progress,
                  false,         false,         {},           book_.places(now_)};
  auto answer = apply_locked(context, request, std::move(before));
  const Error open{ErrorCode::driver, "it is in the middle of an earlier apply", {}};
  if (auto noted = note_open(answer ? open : answer.error()); !noted) stale_ = true;
  closed_.clear();  // what comes again comes with the driver's own permissions
  room_changed_ = true;
  if (answer && request.options.force) taken_by_ = "an apply with --force";
  event("layout.changed", "", answer ? "a layout was applied" : "an apply failed: " + answer.error().message);
  looked_ = false;  // what is other now is no foreign change
  auto looked = serve({}, true);
  taken_by_ = kSomeoneElse;
  if (!looked && answer) return std::unexpected(std::move(looked).error());
  return answer;
}

std::vector<std::string> Keeper::notes() const {
  std::vector<std::string> notes;
  for (const auto& [uuid, error] : unfinished_) notes.push_back(fmt::format("unfinished: {}: {}", uuid, error.message));
  return notes;
}

Result<void> Keeper::close() {
  return parts_.ledger.write("conduct", false, [&] { return leases_.store_conduct({true, context_.epoch}); });
}

}  // namespace partita::node
